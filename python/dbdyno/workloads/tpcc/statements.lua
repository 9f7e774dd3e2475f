-- Each statement is a request of its own, and is waited for.
local begin, commit = statement("begin"), statement("commit")
local districts_at_once = 1 -- that a delivery asks

local function ask(asked, given)
   return asked(given)
end

local send = ask
