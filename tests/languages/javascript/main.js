const fs = require('fs');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');

const [first] = process.argv.slice(2);
if (!isMainThread) {
  parentPort.postMessage(workerData.reduce((a, b) => a + b, 0));
} else if (first === 'fail') {
  console.error('no such thing: 42');
  process.exitCode = 3;
} else if (first === 'throw') {
  throw new RangeError('thrown on purpose');
} else {
  const given = JSON.parse(fs.readFileSync(process.env.WARDER_INPUT, 'utf8'));
  const sorted = fs.readFileSync(0, 'utf8').trim().split('\n').map(Number).sort((a, b) => a - b);
  fs.writeFileSync('report.csv', sorted.map((n) => `${n},${n * n}\n`).join(''));
  fs.mkdirSync('out');
  fs.writeFileSync('out/large.txt', 'x'.repeat(100000));
  new Worker(__filename, { workerData: sorted }).on('message', (total) => {
    console.log('sum', total);
    console.log(process.argv.slice(2).join('|'));
    fs.writeFileSync(process.env.WARDER_RESULT,
      JSON.stringify({ scaled: total * given.factor, name: given.name, sorted }));
  });
}
