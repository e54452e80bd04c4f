"use strict";
/*
 * The page of an execution host. It talks to /v1 and keeps nothing that the host does not know, except the key of its session, for this tab.
 *
 * Whatever comes from a sandbox is set as text. Rich results go into frames with the attribute "sandbox": nothing runs in them, and they have
 * no origin.
 */
const $ = (id) => document.getElementById(id);
const results = window.trustedTypes ? trustedTypes.createPolicy("warder-result", { createHTML: (html) => html }) : { createHTML: (html) => html };

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "onclick") element.addEventListener("click", value);
    else if (name === "class") element.className = value;
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const state = {
  key: sessionStorage.getItem("warder.key"), host: null, sandboxes: [], snapshots: [], executions: new Map(), chosen: null, filter: null,
  view: "activity", stream: null, resultStyle: "", policies: {},
};

/* ---- the API ---- */

async function ask(method, path, body, more = {}) {
  const headers = { "X-Warder-Page": state.key || "login", ...(more.headers || {}) };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal: more.signal, credentials: "same-origin" });
  if (!answer.ok) {
    const why = await answer.json().catch(() => ({ message: `the host answered ${answer.status}` }));
    if ((answer.status === 401 || (answer.status === 403 && !why.kind)) && state.key) showLogin("The session has ended. Sign in again.");
    throw Object.assign(new Error(why.message), { status: answer.status });
  }
  return more.raw ? answer : answer.status === 204 ? null : answer.json();
}

/* The server-sent events of an answer, one after the other. */
async function* eventsOf(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const name = /^event: (.*)$/m.exec(block), data = /^data: (.*)$/m.exec(block);
      if (name && data) yield { name: name[1], data: JSON.parse(data[1]) };
    }
  }
}

const textOf = (part) => part.text !== undefined ? part.text : part.base64 ? "[bytes that are no text]\n" : "";

function complain(error) {
  if (error.name === "AbortError") return;
  $("notice").textContent = error.message;
  $("notice").hidden = false;
  clearTimeout(complain.timer);
  complain.timer = setTimeout(() => { $("notice").hidden = true; }, 8000);
}

const guarded = (work) => (...args) => Promise.resolve(work(...args)).catch(complain);

/* ---- words ---- */

const size = (bytes) => bytes >= 2 ** 30 ? `${+(bytes / 2 ** 30).toFixed(1)} GiB` : bytes >= 2 ** 20 ? `${Math.round(bytes / 2 ** 20)} MiB` : bytes >= 1024 ? `${Math.round(bytes / 1024)} KiB` : `${bytes} B`;

function span(ms) {
  const s = ms / 1000;
  return s < 1 ? `${Math.round(ms)} ms` : s < 60 ? `${+s.toFixed(1)} s` : s < 3600 ? `${Math.floor(s / 60)} min` : `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
}

const causes = {
  wallTime: "time limit", cpuTime: "CPU time limit", memory: "memory limit", output: "output limit", disk: "disk limit", syscall: "forbidden system call",
  cancelled: "cancelled", supervisor: "Warder's process died", host: "the host failed", trap: "trap",
};

/* The kind of a row (run, wait, good or bad) and the word for it. */
function judge(row) {
  if (row.state !== "ended" && row.cause === undefined) {
    if (row.lost) return ["wait", "sandbox ended"];
    return row.state === "paused" ? ["wait", "paused"] : ["run", row.state === "starting" ? "starting" : "running"];
  }
  if (row.cause === "exit") return row.exitCode === 0 ? ["good", "succeeded"] : ["bad", `exit code ${row.exitCode}`];
  if (row.cause === "signal") return ["bad", `killed by ${row.signal}`];
  return ["bad", causes[row.cause] || row.cause || "ended"];
}

/* Some executions are the host's own work for a client: files are read and written by the sandbox's shell. */
const isWork = (row) => row.context || (row.command[1] === "-c" && (row.command[2] || "").startsWith("set -f; full()"));

const commandOf = (row) => row.command.map((word) => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`).join(" ");

/* ---- login ---- */

function showLogin(message) {
  sessionStorage.removeItem("warder.key");
  state.key = null;
  if (state.stream) state.stream.abort();
  $("app").hidden = true;
  $("login").hidden = false;
  $("login-error").textContent = message || "";
  $("token").focus();
}

$("login-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const { key } = await ask("POST", "/page/login", { token: $("token").value.trim() });
    sessionStorage.setItem("warder.key", key);
    state.key = key;
    $("token").value = "";
    begin();
  } catch (error) {
    $("login-error").textContent = error.message;
  }
});

$("logout").addEventListener("click", guarded(async () => {
  await ask("POST", "/page/logout");
  showLogin();
}));

/* ---- what there is ---- */

async function look() {
  const [host, sandboxes, snapshots] = await Promise.all([ask("GET", "/v1/host"), ask("GET", "/v1/sandboxes"), ask("GET", "/v1/snapshots")]);
  state.host = host;
  state.sandboxes = sandboxes;
  state.snapshots = snapshots;
  const lists = await Promise.all(sandboxes.filter((box) => box.state === "running" || box.state === "paused").map((box) =>
    ask("GET", `/v1/sandboxes/${box.id}/executions`).catch(() => [])));
  const present = new Set();
  for (const row of lists.flat()) {
    row.sandbox = row.session;
    row.startedMs = Date.parse(row.started) || 0;
    state.executions.set(row.id, row);
    present.add(row.id);
  }
  /* An execution goes with its sandbox; the page still says how it was. */
  for (const [id, row] of state.executions) if (!present.has(id)) row.lost = true;
  while (state.executions.size > 500) state.executions.delete(state.executions.keys().next().value);
}

function drawUsage() {
  const { used, limits, name } = state.host.tenant;
  const meter = (label, has, most, text) => make("div", { class: "meter", title: `${label}: ${text} of ${label === "Memory" ? size(most) : most}` },
    `${label} `, make("b", {}, text), make("progress", { max: Math.max(most, 1), value: has, "aria-label": label }));
  $("usage").replaceChildren(
    meter("Sandboxes", used.sandboxes, limits.sandboxes, String(used.sandboxes)),
    meter("Memory", used.memoryBytes, limits.memoryBytes, size(used.memoryBytes)),
    meter("CPUs", used.cpuMilli, limits.cpuMilli, String(used.cpuMilli / 1000)),
    meter("Snapshots", used.snapshots, limits.snapshots, String(used.snapshots)));
  $("tenant").textContent = name;
}

function drawSandboxes() {
  const cards = state.sandboxes.map((box) => {
    const own = [...state.executions.values()].filter((row) => row.sandbox === box.id && !row.lost);
    const contexts = own.filter((row) => row.context && row.state !== "ended").length;
    const left = box.endsMs ? box.endsMs - Date.now() : Date.parse(box.endAt) - Date.now();
    const label = box.metadata && Object.values(box.metadata)[0];
    const kind = box.state === "running" ? "run" : "wait";
    const act = (method, what, body) => guarded(async () => { await ask(method, `/v1/sandboxes/${box.id}${what}`, body); await turn(); });
    return make("div", { class: "card" },
      make("div", { class: "name" }, make("span", { class: "text", title: box.id }, label || box.id.slice(0, 8)), make("span", { class: "grow" }), make("span", { class: `badge ${kind}` }, box.state)),
      make("div", { class: "facts" }, `${box.template || "base"} · ${size(box.memoryBytes)} · ${+(box.cpuMilli / 1000).toFixed(2)} CPU`,
        Number.isFinite(left) ? ` · ${left > 0 ? span(Math.max(left, 0)) : "0 s"} left` : "", contexts ? ` · ${contexts} interpreter${contexts > 1 ? "s" : ""}` : ""),
      make("div", { class: "row" },
        box.state === "paused" ? make("button", { class: "small", onclick: act("POST", "/resume") }, "Resume")
          : make("button", { class: "small", onclick: act("POST", "/pause"), disabled: box.state !== "running" }, "Pause"),
        make("button", { class: "small", disabled: box.state !== "running", onclick: () => { show("shell"); $("shell-place").value = box.id; openShell(); } }, "Terminal"),
        make("button", { class: "small", title: "Store its files as a snapshot", onclick: act("POST", "/snapshots", {}) }, "Store"),
        make("span", { class: "grow" }),
        make("button", { class: "small danger", onclick: act("DELETE", "") }, "End")));
  });
  $("sandboxes").replaceChildren(...(cards.length ? cards : [make("div", { class: "empty" }, "No sandbox. “New” starts one.")]));
}

function drawSnapshots() {
  const act = (method, path, body) => guarded(async () => { await ask(method, path, body); await turn(); });
  $("stored").hidden = !state.snapshots.length;
  $("snapshots").replaceChildren(...state.snapshots.map((one) => make("div", { class: "card" },
    make("div", { class: "name" }, make("span", { class: "text", title: one.id }, one.name || one.id)),
    make("div", { class: "facts" }, `${size(one.storedBytes)} · of sandbox ${one.sandbox.slice(0, 8)} · ${span(Math.max(Date.now() - one.createdMs, 0))} ago`,
      one.leftOut ? ` · ${one.leftOut} sockets left out` : "", one.attributesLost ? ` · ${one.attributesLost} files lack attributes` : ""),
    make("div", { class: "row" },
      make("button", { class: "small", title: "A new sandbox with these files", onclick: act("POST", "/v1/sandboxes", { template: one.id, timeoutMs: 3600000 }) }, "New sandbox"),
      make("span", { class: "grow" }),
      make("button", { class: "small danger", onclick: act("DELETE", `/v1/snapshots/${one.id}`) }, "Remove")))));
}

function rows() {
  const all = [...state.executions.values()].filter((row) => !isWork(row));
  all.sort((a, b) => b.startedMs - a.startedMs);
  return all;
}

function drawTiles() {
  const counts = { run: 0, bad: 0, good: 0, wait: state.host.tenant.used.waiting };
  for (const row of rows()) if (judge(row)[0] !== "wait") counts[judge(row)[0]]++;
  const tile = (kind, label) => make("button", { class: `tile ${kind}${counts[kind] ? " some" : ""}`, "aria-pressed": state.filter === kind ? "true" : "false",
    onclick: () => { state.filter = state.filter === kind ? null : kind; draw(); } }, make("b", {}, String(counts[kind])), make("span", {}, label));
  $("tiles").replaceChildren(tile("run", "running now"), tile("bad", "failed"), tile("good", "succeeded"), tile("wait", "waiting"));
}

function drawExecutions() {
  const groups = { run: ["Running now", []], bad: ["Failed", []], good: ["Succeeded", []], wait: ["Paused or gone", []] };
  for (const row of rows()) groups[judge(row)[0]][1].push(row);
  const parts = [];
  for (const [kind, [title, list]] of Object.entries(groups)) {
    if (!list.length || (state.filter && state.filter !== kind)) continue;
    parts.push(make("div", { class: "group" }, make("h2", {}, `${title} · ${list.length}`), make("ol", {}, ...list.slice(0, 50).map((row) => {
      const box = state.sandboxes.find((one) => one.id === row.sandbox);
      const label = box && box.metadata && Object.values(box.metadata)[0];
      const age = Date.now() - row.startedMs;
      return make("li", { class: state.chosen === row.id ? "chosen" : "", "data-id": row.id, tabindex: "0", onclick: () => choose(row.id) },
        make("span", { class: `badge ${kind}` }, judge(row)[1]),
        make("span", { class: "command", title: commandOf(row) }, commandOf(row)),
        make("span", { class: "where" }, label || row.sandbox.slice(0, 8)),
        make("span", { class: "when" }, kind === "run" ? `for ${span(age)}` : `${span(age)} ago`));
    }))));
  }
  $("executions").replaceChildren(...(parts.length ? parts : [make("div", { class: "empty" }, state.filter ? "None of this kind." : "Nothing has run yet.")]));
}

function fillSelect(select, values, keep) {
  const wanted = JSON.stringify(values);
  if (select.dataset.values === wanted) return;
  const chosen = keep && select.value;
  select.dataset.values = wanted;
  select.replaceChildren(...values.map(([value, label]) => make("option", { value }, label)));
  if (chosen && values.some(([value]) => value === chosen)) select.value = chosen;
}

function draw() {
  drawUsage();
  drawSandboxes();
  drawSnapshots();
  drawTiles();
  drawExecutions();
  const boxes = state.sandboxes.filter((box) => box.state === "running").map((box) => [box.id, (box.metadata && Object.values(box.metadata)[0]) || box.id.slice(0, 8)]);
  fillSelect($("template"), state.host.templates.map((name) => [name, name]), true);
  fillSelect($("code-place"), [["", "in a jail of its own"], ...boxes.map(([id, name]) => [id, `in ${name}`])], true);
  fillSelect($("shell-place"), boxes, true);
  $("shell-open").disabled = !boxes.length;
}

/* ---- one execution ---- */

function table(heads, rows) {
  return make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", {}, head)))),
    make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, String(cell ?? "")))))));
}

function facts(pairs) {
  return make("dl", {}, ...pairs.filter(([, value]) => value !== undefined && value !== null).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))));
}

function receiptOf(result) {
  const controls = (result.receipt && result.receipt.controls) || [];
  if (!controls.length) return null;
  const bad = controls.filter((row) => row.status === "notEnforced" || row.status === "absent");
  return make("details", { class: "receipt" }, make("summary", {}, `Receipt: ${controls.filter((row) => row.status === "enforced").length} controls read back as enforced` + (bad.length ? `, ${bad.length} not enforced` : "")),
    table(["Control", "State", "Requested", "By"], controls.map((row) => [row.control, row.status, row.requested, row.mechanism || row.reason])));
}

function refusedOf(result) {
  const refusals = (result.network && result.network.refusals) || [];
  if (!refusals.length) return null;
  return make("div", { class: "refused" }, make("h3", {}, `Refused connections · ${result.network.refused}`),
    table(["Destination", "Port", "Why", "Times"], refusals.map((row) => [row.destination, row.port || row.protocol, row.text || row.reason, row.count])));
}

function verdictOf(result) {
  const [kind, word] = judge(result);
  const hit = (result.limitsHit || []).join(", ");
  return make("div", { class: `verdict ${kind}` }, word[0].toUpperCase() + word.slice(1), make("small", {}, result.detail || "", hit ? ` · limits hit: ${hit}` : ""));
}

function resultParts(result) {
  return [verdictOf(result), facts([["Wall time", result.durations && span(result.durations.wallUs / 1000)], ["CPU time", result.cpuTimeUs !== null && result.cpuTimeUs !== undefined && span(result.cpuTimeUs / 1000)],
    ["Peak memory", result.peakMemoryBytes ? size(result.peakMemoryBytes) : null], ["Backend", result.backend], ["Isolation", result.isolation]]),
  refusedOf(result), receiptOf(result)];
}

class Output {
  constructor() {
    this.element = make("pre", { tabindex: "0", "aria-label": "Output" });
    this.length = 0;
  }
  add(text, style) {
    const follows = this.element.scrollTop + this.element.clientHeight >= this.element.scrollHeight - 30;
    const last = this.element.lastChild;
    if (last && last.className === (style || "")) last.append(text);
    else this.element.append(make("span", { class: style || "" }, text));
    this.length += text.length;
    /* Some megabytes are enough for eyes. */
    while (this.length > 2e6 && this.element.childNodes.length > 1) {
      this.length -= this.element.firstChild.textContent.length;
      this.element.firstChild.remove();
    }
    if (follows) this.element.scrollTop = this.element.scrollHeight;
  }
  event({ name, data }) {
    if (name === "output") this.add(textOf(data), data.stream === "stderr" ? "stderr" : "");
    else if (name === "gap") this.add(`\n[${size(data.to - data.from)} are no longer kept]\n`, "note");
  }
}

function choose(id) {
  state.chosen = state.chosen === id ? null : id;
  if (state.stream) state.stream.abort();
  state.stream = null;
  $("activity").classList.toggle("open", !!state.chosen);
  $("detail").hidden = !state.chosen;
  draw();
  if (state.chosen) guarded(showDetail)(state.executions.get(id));
}

async function showDetail(row) {
  const path = `/v1/sandboxes/${row.sandbox}/executions/${row.id}`;
  const output = new Output();
  const place = make("div", { id: "verdict" });
  const buttons = make("div", { class: "row" });
  const stop = (signal, label, style) => make("button", { class: `small ${style || ""}`, onclick: guarded(() => ask("POST", `${path}/signal`, { signal })) }, label);
  const close = make("button", { class: "small", "aria-label": "Close", onclick: () => choose(row.id) }, "Close");
  const drawHead = (current) => {
    const [kind, word] = judge(current);
    place.replaceChildren(make("div", { class: `verdict ${kind}` }, word[0].toUpperCase() + word.slice(1), make("small", {}, current.detail || `execution ${row.id}`)));
    buttons.replaceChildren(...(kind === "run" ? [stop(15, "Stop"), stop(9, "Kill", "danger"), row.terminal ? make("button", { class: "small", onclick: () => { show("shell"); openTerminal(row.sandbox, row.id); } }, "Terminal") : null].filter(Boolean) : []),
      make("span", { class: "grow" }), close);
  };
  drawHead(row);
  $("detail").replaceChildren(buttons, make("div", { class: "command" }, commandOf(row)), place, make("h3", {}, "Output"), output.element);
  if (row.lost) { output.add("The sandbox has ended, and its output with it.", "note"); return; }
  const stream = state.stream = new AbortController();
  const answer = await ask("GET", `${path}/output`, undefined, { raw: true, signal: stream.signal });
  for await (const event of eventsOf(answer)) output.event(event);
  if (stream.signal.aborted) return;
  const result = await ask("GET", path, undefined, { signal: stream.signal });
  if (stream.signal.aborted || result.state) return;
  if (!output.length) output.add("No output.", "note");
  buttons.replaceChildren(make("span", { class: "grow" }), close);
  place.remove();
  $("detail").querySelector(".command").after(...resultParts(result).filter(Boolean));
  await turn();
}

/* ---- code ---- */

/* A frame in which nothing runs: what is shown is the sandbox's. */
function frame(html) {
  const element = make("iframe", { sandbox: "", title: "Result", referrerpolicy: "no-referrer" });
  element.srcdoc = results.createHTML(`<!doctype html><style>${state.resultStyle}</style>${html}`);
  return element;
}

function bundle(rich) {
  const image = ["image/png", "image/jpeg", "image/gif"].find((type) => rich[type] && /^[A-Za-z0-9+/=\s]+$/.test(rich[type]));
  if (image) return frame(`<img alt="" src="data:${image};base64,${rich[image].replace(/\s/g, "")}">`);
  if (rich["image/svg+xml"]) return frame(rich["image/svg+xml"]);
  if (rich["text/html"]) return frame(rich["text/html"]);
  return make("pre", {}, rich["text/plain"] ?? rich["text/markdown"] ?? JSON.stringify(rich, null, 1));
}

async function runInContext(place, out, output) {
  const answer = await ask("POST", `/v1/sandboxes/${place}/code`, { code: $("code-text").value, language: $("code-language").value }, { raw: true, headers: { Accept: "text/event-stream" } });
  for await (const { name, data } of eventsOf(answer)) {
    if (name === "shown") out.append(bundle(data));
    else if (name !== "end") output.event({ name, data });
    else {
      const said = data.contextSays || {};
      if (said.value) out.append(bundle(said.value));
      if (said.error) output.add(`${said.error.traceback || `${said.error.name}: ${said.error.value}`}\n`, "stderr");
      const good = data.status === "success";
      out.prepend(make("div", { class: `verdict ${good ? "good" : "bad"}` }, good ? "Succeeded" : { failed: "The code failed", timeout: "Interrupted at its time limit", killed: "The interpreter was ended" }[data.status] || data.status,
        make("small", {}, `piece ${data.piece} of ${data.context} · ${span(data.wallUs / 1000)}${data.detail ? ` · ${data.detail}` : ""}`)));
    }
  }
}

async function runAlone(out, output) {
  const result = await ask("POST", "/v1/code", { code: $("code-text").value, language: $("code-language").value });
  output.add(textOf(result.stdout || {}));
  output.add(textOf(result.stderr || {}), "stderr");
  for (const note of result.diagnostics || []) output.add(`${note.line ?? ""}: ${note.message}\n`, "stderr");
  out.prepend(...resultParts(result).filter(Boolean));
}

async function runCode() {
  const place = $("code-place").value, out = $("code-out"), output = new Output();
  $("code-run").disabled = true;
  $("code-stop").hidden = !place;
  out.replaceChildren(output.element);
  try {
    if (place) await runInContext(place, out, output);
    else await runAlone(out, output);
    if (!output.length) output.element.remove();
  } catch (error) {
    output.element.remove();
    out.prepend(make("div", { class: "verdict bad" }, "Refused", make("small", {}, error.message)));
  } finally {
    $("code-run").disabled = false;
    $("code-stop").hidden = true;
  }
}

$("code-run").addEventListener("click", runCode);
$("code-stop").addEventListener("click", guarded(() => ask("POST", `/v1/sandboxes/${$("code-place").value}/contexts/default-${$("code-language").value}/interrupt`)));
$("code-text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); if (!$("code-run").disabled) runCode(); }
});

/* ---- terminal ---- */

const shell = { socket: null, terminal: null };
const ROWS = 25, COLUMNS = 100;

function openTerminal(place, id) {
  if (shell.socket) shell.socket.close();
  const terminal = shell.terminal = new Terminal(ROWS, COLUMNS);
  const socket = shell.socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/v1/sandboxes/${place}/executions/${id}/terminal`, ["warder", `warder.key.${state.key}`]);
  let drawn = false;
  const redraw = () => {
    if (drawn) return;
    drawn = true;
    requestAnimationFrame(() => { drawn = false; if (shell.terminal === terminal) terminal.draw($("screen")); });
  };
  const say = (text) => { if (shell.socket === socket) $("shell-state").textContent = text; };
  socket.binaryType = "arraybuffer";
  terminal.answer = (text) => send(text);
  socket.onopen = () => { say(`connected, ${ROWS} × ${COLUMNS}`); redraw(); $("screen").focus(); };
  socket.onmessage = ({ data }) => {
    if (typeof data !== "string") { terminal.write(new Uint8Array(data)); redraw(); return; }
    const { end, gap } = JSON.parse(data);
    if (end) say(end.signal ? `ended by signal ${end.signal}` : `ended with exit code ${end.exitCode}`);
    if (gap) say("some output is missing");
  };
  socket.onclose = (event) => { if (!$("shell-state").textContent.startsWith("ended")) say(event.reason || "the connection has ended"); };
}

function send(text) {
  if (!shell.socket || shell.socket.readyState !== WebSocket.OPEN) return;
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += 16384) shell.socket.send(bytes.subarray(at, at + 16384));
}

const openShell = guarded(async () => {
  const place = $("shell-place").value;
  $("shell-state").textContent = "connecting…";
  try {
    const { id } = await ask("POST", `/v1/sandboxes/${place}/executions`, { argv: ["/bin/bash", "-i"], rows: ROWS, columns: COLUMNS, env: { TERM: "xterm" } });
    openTerminal(place, id);
  } catch (error) {
    $("shell-state").textContent = "";
    throw error;
  }
});

$("shell-open").addEventListener("click", openShell);
$("screen").addEventListener("keydown", (event) => {
  const bytes = shell.terminal && shell.terminal.key(event);
  if (bytes === null || bytes === undefined) return;
  event.preventDefault();
  send(bytes);
});
$("screen").addEventListener("paste", (event) => { event.preventDefault(); send(event.clipboardData.getData("text/plain").replace(/\r?\n/g, "\r")); });

/* ---- policies ---- */

const OWN = "\0own";

async function explained(name) {
  if (name !== OWN && state.policies[name]) return state.policies[name];
  const body = name === OWN ? { policy: JSON.parse($("policy-text").value) } : { template: name };
  return state.policies[name] = await ask("POST", "/v1/policies/explain", body);
}

const drawPolicies = guarded(async () => {
  const left = $("policy-left").value, right = $("policy-right").value;
  $("policy-own").hidden = left !== OWN && right !== OWN;
  const sides = await Promise.all([left, right].map((name) => explained(name).catch((error) => ({ wouldRun: false, refusal: { message: error.message }, fields: [] }))));
  const keyOf = (row) => row.control ? `${row.field} ${row.control}` : row.field;
  const keys = [...new Set(sides.flatMap((side) => (side.fields || []).map(keyOf)))];
  const styles = { enforced: "good", reported: "good", notEnforced: "wait", refused: "bad", unrestricted: "wait", empty: "" };
  const words = { enforced: "enforced", reported: "reported", notEnforced: "not enforced", refused: "refused", unrestricted: "unrestricted", empty: "nothing granted" };
  const cells = (row) => row ? [make("td", { class: "first mono" }, row.requested || "–"), make("td", {}, make("span", { class: `badge ${styles[row.state]}` }, words[row.state] || row.state)), make("td", { class: "by" }, row.mechanism || row.reason || "")]
    : [make("td", { class: "first" }, "–"), make("td", {}), make("td", {})];
  const lines = keys.map((key) => {
    const [a, b] = sides.map((side) => (side.fields || []).find((row) => keyOf(row) === key));
    const differs = !a || !b || a.requested !== b.requested || a.state !== b.state;
    if ($("policy-differs").checked && !differs) return null;
    return make("tr", { class: differs ? "differs" : "" }, make("td", { class: "mono" }, (a || b).field), ...cells(a), ...cells(b));
  }).filter(Boolean);
  const head = (side, name) => make("th", { colspan: "3", class: "side" }, `${name === OWN ? "your policy" : name} `,
    make("span", { class: `badge ${side.wouldRun ? "good" : "bad"}` }, side.wouldRun ? "would run" : "would be refused"),
    side.refusal ? make("p", { class: "error" }, side.refusal.message) : null);
  $("policy-table").replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, "Field"), head(sides[0], left), head(sides[1], right))), make("tbody", {}, ...lines)));
});

for (const id of ["policy-left", "policy-right", "policy-differs"]) $(id).addEventListener("change", drawPolicies);
$("policy-explain").addEventListener("click", drawPolicies);

/* ---- the page ---- */

function show(view) {
  state.view = view;
  for (const tab of document.querySelectorAll("[data-view]")) {
    tab.setAttribute("aria-selected", tab.dataset.view === view ? "true" : "false");
    $(tab.dataset.view).hidden = tab.dataset.view !== view;
  }
  if (view === "policies") {
    const names = state.host.templates.map((name) => [name, name]);
    fillSelect($("policy-left"), [...names, [OWN, "a policy of your own"]], true);
    fillSelect($("policy-right"), [[OWN, "a policy of your own"], ...names], true);
    drawPolicies();
  }
}

for (const tab of document.querySelectorAll("[data-view]")) tab.addEventListener("click", () => show(tab.dataset.view));
$("create").addEventListener("click", guarded(async () => {
  $("create").disabled = true;
  try { await ask("POST", "/v1/sandboxes", { template: $("template").value, timeoutMs: 3600000 }); await turn(); } finally { $("create").disabled = false; }
}));
$("executions").addEventListener("keydown", (event) => { if (event.key === "Enter" && event.target.dataset.id) choose(event.target.dataset.id); });

async function turn() {
  await look();
  draw();
}

async function begin() {
  clearTimeout(begin.timer);
  if (!state.key) { showLogin(); return; }
  try {
    /* The policy of the page knows this style by its digest. */
    if (!state.resultStyle) state.resultStyle = await (await fetch("/page/result.css")).text();
    await turn();
    $("login").hidden = true;
    $("app").hidden = false;
  } catch (error) {
    if (state.key) complain(error);
  }
  if (state.key) begin.timer = setTimeout(begin, document.hidden ? 10000 : 1500);
}

begin();
