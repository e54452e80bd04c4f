"use strict";
/*
 * A small terminal: a grid of cells that understands what shells, editors of lines and pagers send (cursor movement, erasing, scrolling
 * regions, colours, the alternate screen). Not: mouse, wide characters, sixels, character sets, scrollback beyond 500 lines.
 */
class Terminal {
  constructor(rows, columns) {
    this.rows = rows;
    this.columns = columns;
    this.decoder = new TextDecoder();
    this.history = [];
    this.style = "";
    this.reset();
  }

  reset() {
    this.row = this.column = 0;
    this.top = 0;
    this.bottom = this.rows - 1;
    this.attributes = { fore: "", back: "", bold: false, under: false, faint: false, reverse: false };
    this.pending = "";
    this.saved = { row: 0, column: 0 };
    this.other = null;
    this.hidden = false;
    this.applicationKeys = false;
    this.lines = Array.from({ length: this.rows }, () => this.blank());
  }

  blank() { return Array.from({ length: this.columns }, () => ({ text: " ", style: "" })); }

  resize(rows, columns) {
    this.columns = columns;
    for (const line of this.lines) {
      while (line.length < columns) line.push({ text: " ", style: "" });
      line.length = columns;
    }
    while (this.lines.length < rows) this.lines.push(this.blank());
    while (this.lines.length > rows) {
      if (this.row > 0) { this.keep(this.lines.shift()); this.row--; } else this.lines.pop();
    }
    this.rows = rows;
    this.top = 0;
    this.bottom = rows - 1;
    this.row = Math.min(this.row, rows - 1);
    this.column = Math.min(this.column, columns - 1);
  }

  keep(line) {
    if (this.other) return;
    this.history.push(line);
    if (this.history.length > 500) this.history.shift();
  }

  write(bytes) {
    this.pending += this.decoder.decode(bytes, { stream: true });
    let at = 0;
    const text = this.pending;
    while (at < text.length) {
      if (text[at] === "\x1b") {
        const used = this.escape(text, at);
        if (!used) break;
        at += used;
      } else {
        const point = String.fromCodePoint(text.codePointAt(at));
        this.put(point);
        at += point.length;
      }
    }
    this.pending = text.slice(at);
    if (this.pending.length > 4096) this.pending = "";
  }

  put(point) {
    const code = point.codePointAt(0);
    if (point === "\n" || code === 11 || code === 12) this.feed();
    else if (point === "\r") this.column = 0;
    else if (point === "\b") this.column = Math.max(0, this.column - 1);
    else if (point === "\t") this.column = Math.min(this.columns - 1, (this.column & ~7) + 8);
    else if (code >= 32 && code !== 127) {
      if (this.column >= this.columns) { this.column = 0; this.feed(); }
      this.lines[this.row][this.column++] = { text: point, style: this.style };
    }
  }

  feed() {
    if (this.row === this.bottom) this.scroll(1);
    else if (this.row < this.rows - 1) this.row++;
  }

  scroll(count) {
    for (; count > 0; count--) {
      const [line] = this.lines.splice(this.top, 1);
      if (this.top === 0) this.keep(line);
      this.lines.splice(this.bottom, 0, this.blank());
    }
    for (; count < 0; count++) {
      this.lines.splice(this.bottom, 1);
      this.lines.splice(this.top, 0, this.blank());
    }
  }

  /* How many characters the sequence has; 0: it is not whole yet. */
  escape(text, at) {
    const kind = text[at + 1];
    if (kind === undefined) return 0;
    if (kind === "[") {
      const found = /^\x1b\[([?>=]?)([0-9;:]*)[ -/]*([@-~])/.exec(text.slice(at, at + 64));
      if (!found) return text.length - at < 64 && /^\x1b\[[0-9;:?>= -/]*$/.test(text.slice(at)) ? 0 : 2;
      this.control(found[1], found[2].split(/[;:]/).map((one) => parseInt(one, 10)), found[3]);
      return found[0].length;
    }
    if (kind === "]" || kind === "P" || kind === "_" || kind === "^") {
      const end = /\x07|\x1b\\/.exec(text.slice(at + 2));
      if (!end) return text.length - at < 4096 ? 0 : 2;
      return 2 + end.index + end[0].length;
    }
    if (kind === "(" || kind === ")" || kind === "#") return text[at + 2] === undefined ? 0 : 3;
    if (kind === "7") this.saved = { row: this.row, column: this.column };
    else if (kind === "8") ({ row: this.row, column: this.column } = this.saved);
    else if (kind === "M") { if (this.row === this.top) this.scroll(-1); else this.row = Math.max(0, this.row - 1); }
    else if (kind === "D") this.feed();
    else if (kind === "E") { this.column = 0; this.feed(); }
    else if (kind === "c") this.reset();
    return 2;
  }

  control(mark, numbers, letter) {
    const first = numbers[0] || 0, one = Math.min(first || 1, 1000);
    const line = this.lines[this.row];
    const erase = (from, to, row = line) => { for (let i = from; i < to; i++) row[i] = { text: " ", style: this.style }; };
    const column = Math.min(this.column, this.columns - 1);
    if (mark === "?") {
      if (letter !== "h" && letter !== "l") return;
      for (const number of numbers) this.mode(number, letter === "h");
    } else if (mark) { return; }
    else if (letter === "A") this.row = Math.max(0, this.row - one);
    else if (letter === "B" || letter === "e") this.row = Math.min(this.rows - 1, this.row + one);
    else if (letter === "C" || letter === "a") this.column = Math.min(this.columns - 1, column + one);
    else if (letter === "D") this.column = Math.max(0, column - one);
    else if (letter === "E") { this.row = Math.min(this.rows - 1, this.row + one); this.column = 0; }
    else if (letter === "F") { this.row = Math.max(0, this.row - one); this.column = 0; }
    else if (letter === "G" || letter === "`") this.column = Math.min(this.columns - 1, one - 1);
    else if (letter === "d") this.row = Math.min(this.rows - 1, one - 1);
    else if (letter === "H" || letter === "f") {
      this.row = Math.min(this.rows - 1, one - 1);
      this.column = Math.min(this.columns - 1, (numbers[1] || 1) - 1);
    } else if (letter === "J") {
      if (first === 0) { erase(column, this.columns); for (let i = this.row + 1; i < this.rows; i++) this.lines[i] = this.blank(); }
      else if (first === 1) { erase(0, column + 1); for (let i = 0; i < this.row; i++) this.lines[i] = this.blank(); }
      else { this.lines = this.lines.map(() => this.blank()); if (first === 3) this.history = []; }
    } else if (letter === "K") erase(first ? 0 : column, first === 1 ? column + 1 : this.columns);
    else if (letter === "P") { line.splice(column, one); while (line.length < this.columns) line.push({ text: " ", style: "" }); }
    else if (letter === "@") { for (let i = 0; i < Math.min(one, this.columns); i++) line.splice(column, 0, { text: " ", style: "" }); line.length = this.columns; }
    else if (letter === "X") erase(column, Math.min(this.columns, column + one));
    else if (letter === "L" || letter === "M") {
      const top = this.top;
      this.top = this.row;
      this.scroll(letter === "M" ? Math.min(one, this.rows) : -Math.min(one, this.rows));
      this.top = top;
    } else if (letter === "S") this.scroll(Math.min(one, this.rows));
    else if (letter === "T") this.scroll(-Math.min(one, this.rows));
    else if (letter === "r") {
      this.top = Math.min(this.rows - 1, (first || 1) - 1);
      this.bottom = Math.max(this.top, Math.min(this.rows, numbers[1] || this.rows) - 1);
      this.row = this.column = 0;
    } else if (letter === "s") this.saved = { row: this.row, column: this.column };
    else if (letter === "u") ({ row: this.row, column: this.column } = this.saved);
    else if (letter === "n" && first === 6) this.answer(`\x1b[${this.row + 1};${this.column + 1}R`);
    else if (letter === "m") this.colour(numbers);
  }

  mode(number, on) {
    if (number === 25) this.hidden = !on;
    else if (number === 1) this.applicationKeys = on;
    else if (number === 1049 || number === 47 || number === 1047) {
      if (on && !this.other) {
        this.other = { lines: this.lines, row: this.row, column: this.column };
        this.lines = this.lines.map(() => this.blank());
      } else if (!on && this.other) {
        const { lines, row, column } = this.other;
        this.other = null;
        this.lines = lines;
        this.row = row;
        this.column = column;
        this.resize(this.rows, this.columns);
      }
    }
  }

  colour(numbers) {
    const a = this.attributes;
    for (let i = 0; i < numbers.length; i++) {
      const n = numbers[i] || 0;
      if (n === 0) Object.assign(a, { fore: "", back: "", bold: false, under: false, faint: false, reverse: false });
      else if (n === 1) a.bold = true;
      else if (n === 2) a.faint = true;
      else if (n === 4) a.under = true;
      else if (n === 7) a.reverse = true;
      else if (n === 22) a.bold = a.faint = false;
      else if (n === 24) a.under = false;
      else if (n === 27) a.reverse = false;
      else if ((n >= 30 && n <= 37) || (n >= 90 && n <= 97)) a.fore = `f${n % 10}`;
      else if (n === 39) a.fore = "";
      else if ((n >= 40 && n <= 47) || (n >= 100 && n <= 107)) a.back = `b${n % 10}`;
      else if (n === 49) a.back = "";
      else if (n === 38 || n === 48) {
        /* Of 256 colours, the first 16 are shown; others are not. */
        if (numbers[i + 1] === 5) {
          if (numbers[i + 2] < 16) a[n === 38 ? "fore" : "back"] = (n === 38 ? "f" : "b") + (numbers[i + 2] % 8);
          i += 2;
        } else if (numbers[i + 1] === 2) i += 4;
      }
    }
    this.style = [a.fore, a.back, a.bold && "bold", a.under && "under", a.faint && "faint", a.reverse && "reverse"].filter(Boolean).join(" ");
  }

  answer() {}

  draw(into) {
    const fragment = document.createDocumentFragment();
    const all = this.other ? this.lines : [...this.history, ...this.lines];
    const cursor = all.length - this.rows + this.row;
    all.forEach((cells, index) => {
      const line = document.createElement("div");
      let run = null;
      cells.forEach((cell, column) => {
        const here = !this.hidden && index === cursor && column === Math.min(this.column, this.columns - 1);
        const style = here ? `${cell.style} cursor` : cell.style;
        if (!run || run.className !== style) {
          run = document.createElement("span");
          run.className = style;
          line.append(run);
        }
        run.append(cell.text);
      });
      fragment.append(line);
    });
    const follows = into.scrollTop + into.clientHeight >= into.scrollHeight - 40;
    into.replaceChildren(fragment);
    if (follows) into.scrollTop = into.scrollHeight;
  }

  /* What a key sends, or null. */
  key(event) {
    const arrows = { ArrowUp: "A", ArrowDown: "B", ArrowRight: "C", ArrowLeft: "D", Home: "H", End: "F" };
    const others = { Enter: "\r", Backspace: "\x7f", Tab: "\t", Escape: "\x1b", Delete: "\x1b[3~", Insert: "\x1b[2~", PageUp: "\x1b[5~", PageDown: "\x1b[6~" };
    if (event.metaKey) return null;
    if (arrows[event.key]) return (this.applicationKeys ? "\x1bO" : "\x1b[") + arrows[event.key];
    if (others[event.key]) return others[event.key];
    if ([...event.key].length !== 1) return null;
    if (event.ctrlKey) {
      const code = event.key.toUpperCase().charCodeAt(0);
      if (event.shiftKey && (event.key === "C" || event.key === "V")) return null;
      return event.key === " " ? "\0" : code >= 64 && code < 96 ? String.fromCharCode(code - 64) : null;
    }
    return event.altKey ? "\x1b" + event.key : event.key;
  }
}
