export {};
declare const require: (name: string) => any;
declare const process: any;
const fs = require('fs');

interface Given { factor: number; name: string }
class Numbers<T extends number> {
  constructor(private readonly items: T[]) {}
  sorted(): T[] { return [...this.items].sort((a, b) => a - b); }
  total(): number { return this.items.reduce((a, b) => a + b, 0); }
}

const args: string[] = process.argv.slice(2);
if (args[0] === 'fail') {
  console.error('no such thing: 42');
  process.exit(3);
}
if (args[0] === 'throw') throw new RangeError('thrown on purpose');
const given: Given = JSON.parse(fs.readFileSync(process.env.WARDER_INPUT, 'utf8'));
const numbers = new Numbers<number>(fs.readFileSync(0, 'utf8').trim().split('\n').map(Number));
fs.writeFileSync('report.csv', numbers.sorted().map((n) => `${n},${n * n}\n`).join(''));
fs.mkdirSync('out');
fs.writeFileSync('out/large.txt', 'x'.repeat(100000));
console.log('sum', numbers.total());
console.log(args.join('|'));
fs.writeFileSync(process.env.WARDER_RESULT,
  JSON.stringify({ scaled: numbers.total() * given.factor, name: given.name, sorted: numbers.sorted() }));
