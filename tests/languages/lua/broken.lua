print("never printed")
local function f(
