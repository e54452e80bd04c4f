#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <iterator>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::string member(const std::string &json, const std::string &key)
{
	const auto at = json.find('"' + key + "\": ") + key.size() + 4;

	return json.substr(at, json.find_first_of(",}", at) - at);
}

int main(int argc, char **argv)
{
	const std::vector<std::string> args(argv + 1, argv + argc);

	if (args == std::vector<std::string>{ "fail" }) {
		std::cerr << "no such thing: 42\n";
		return 3;
	}
	if (args == std::vector<std::string>{ "throw" })
		throw std::runtime_error("thrown on purpose");
	std::ifstream in(std::getenv("WARDER_INPUT"));
	const std::string input{ std::istreambuf_iterator<char>(in), {} };
	std::vector<int> numbers{ std::istream_iterator<int>(std::cin), {} };
	std::sort(numbers.begin(), numbers.end());
	auto total = std::async(std::launch::async, [&] { return std::accumulate(numbers.begin(), numbers.end(), 0); });
	std::map<int, int> squares;
	std::thread squaring([&] { for (int n : numbers) squares[n] = n * n; });
	squaring.join();
	std::ofstream report("report.csv");
	for (const auto &[n, square] : squares)
		report << n << ',' << square << '\n';
	std::filesystem::create_directory("out");
	std::ofstream("out/large.txt") << std::string(100000, 'x');
	const int sum = total.get();
	std::cout << "sum " << sum << '\n';
	for (std::size_t i = 0; i < args.size(); i++)
		std::cout << (i ? "|" : "") << args[i];
	std::cout << std::endl;
	std::ofstream result(std::getenv("WARDER_RESULT"));
	result << "{\"scaled\": " << sum * std::stoi(member(input, "factor")) << ", \"name\": " << member(input, "name")
	       << ", \"sorted\": [";
	for (std::size_t i = 0; i < numbers.size(); i++)
		result << (i ? "," : "") << numbers[i];
	result << "]}";
}
