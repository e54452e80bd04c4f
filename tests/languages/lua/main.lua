if arg[1] == "fail" then
  io.stderr:write("no such thing: 42\n")
  os.exit(3)
end
if arg[1] == "throw" then error("thrown on purpose") end
local input = assert(io.open(os.getenv("WARDER_INPUT"))):read("a")
local factor = math.tointeger(input:match('"factor": *(%d+)'))
local name = input:match('"name": *("[^"]*")')
local numbers = {}
for line in io.lines() do numbers[#numbers + 1] = math.tointeger(line) end
table.sort(numbers)
local total = 0
local report = assert(io.open("report.csv", "w"))
for n in coroutine.wrap(function() for _, n in ipairs(numbers) do coroutine.yield(n) end end) do
  total = total + n
  report:write(("%d,%d\n"):format(n, n * n))
end
report:close()
assert(os.execute("mkdir out"))
local large = assert(io.open("out/large.txt", "w"))
large:write(("x"):rep(100000))
large:close()
print("sum " .. total)
print(table.concat(arg, "|"))
local result = assert(io.open(os.getenv("WARDER_RESULT"), "w"))
result:write(('{"scaled": %d, "name": %s, "sorted": [%s]}'):format(total * factor, name, table.concat(numbers, ",")))
result:close()
