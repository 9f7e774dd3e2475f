-- Statements go out together: those whose rows are wanted by the next `flush`, the others by the commit.
local begin, commit = statement("begin"), statement("commit")
local districts_at_once = 10 -- that a delivery asks

local function ask(asked, given)
   return asked:ask(given)
end

local function send(sent, given)
   sent:queue(given)
end
