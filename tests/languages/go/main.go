package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	args := os.Args[1:]
	if len(args) == 1 && args[0] == "fail" {
		fmt.Fprintln(os.Stderr, "no such thing: 42")
		os.Exit(3)
	}
	if len(args) == 1 && args[0] == "throw" {
		panic("thrown on purpose")
	}
	var given struct {
		Factor int
		Name   string
	}
	input, err := os.ReadFile(os.Getenv("WARDER_INPUT"))
	check(err)
	check(json.Unmarshal(input, &given))
	var numbers []int
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		n, err := strconv.Atoi(lines.Text())
		check(err)
		numbers = append(numbers, n)
	}
	sort.Ints(numbers)
	rows := make([]string, len(numbers))
	parts := make(chan int, len(numbers))
	var group sync.WaitGroup
	for i, n := range numbers {
		group.Add(1)
		go func(i, n int) {
			defer group.Done()
			rows[i] = fmt.Sprintf("%d,%d\n", n, n*n)
			parts <- n
		}(i, n)
	}
	group.Wait()
	close(parts)
	total := 0
	for part := range parts {
		total += part
	}
	check(os.WriteFile("report.csv", []byte(strings.Join(rows, "")), 0644))
	check(os.Mkdir("out", 0755))
	check(os.WriteFile("out/large.txt", []byte(strings.Repeat("x", 100000)), 0644))
	fmt.Println("sum", total)
	fmt.Println(strings.Join(args, "|"))
	result, err := json.Marshal(map[string]any{"scaled": total * given.Factor, "name": given.Name, "sorted": numbers})
	check(err)
	check(os.WriteFile(os.Getenv("WARDER_RESULT"), result, 0))
}
