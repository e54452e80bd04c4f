<?php
declare(strict_types=1);
if (($argv[1] ?? '') === 'fail') {
    fwrite(STDERR, "no such thing: 42\n");
    exit(3);
}
if (($argv[1] ?? '') === 'throw') throw new DomainException('thrown on purpose');
$given = json_decode(file_get_contents(getenv('WARDER_INPUT')), true, 512, JSON_THROW_ON_ERROR);
$numbers = array_map('intval', file('php://stdin', FILE_IGNORE_NEW_LINES));
sort($numbers);
$report = fopen('report.csv', 'w');
foreach ($numbers as $n) fputcsv($report, [$n, $n ** 2]);
fclose($report);
mkdir('out');
file_put_contents('out/large.txt', str_repeat('x', 100000));
$total = array_sum($numbers);
echo "sum $total\n", implode('|', array_slice($argv, 1)), "\n";
file_put_contents(getenv('WARDER_RESULT'),
    json_encode(['scaled' => $total * $given['factor'], 'name' => $given['name'], 'sorted' => $numbers]));
