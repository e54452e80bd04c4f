require 'csv'
require 'json'
require 'set'

if ARGV[0] == 'fail'
  warn 'no such thing: 42'
  exit 3
end
raise ArgumentError, 'thrown on purpose' if ARGV[0] == 'throw'
given = JSON.parse(File.read(ENV['WARDER_INPUT']))
numbers = STDIN.each_line.map(&:to_i).to_set.sort
total = Thread.new { numbers.sum }.value
CSV.open('report.csv', 'w') { |csv| numbers.each { |n| csv << [n, n**2] } }
Dir.mkdir('out')
File.write('out/large.txt', 'x' * 100_000)
puts "sum #{total}", ARGV.join('|')
File.write(ENV['WARDER_RESULT'], JSON.generate(scaled: total * given['factor'], name: given['name'], sorted: numbers))
