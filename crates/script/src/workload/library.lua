-- What the Lua scripts of workloads can call. A request is yielded, and answered with rows.
local host = ...
local yield = coroutine.yield
local getinfo = debug.getinfo -- scripts do not have it

local statement = {}
statement.__index = statement

-- The parameters by name, in the order in which they were declared to the engine. They are sent before
-- the statement is used again: one table is enough for all uses.
local function values(self, given)
   local all, names = self.values, self.names
   for place = 1, #names do
      all[place] = given and given[names[place]]
   end
   return unpack(all, 1, #names)
end

-- Executes the statement; returns its rows, each by the names of its columns.
function statement:__call(given)
   return yield(host.EXECUTE, self.number, values(self, given))
end

-- Sends the statement without waiting, until `flush` or the next statement that is waited for.
function statement:queue(given)
   yield(host.QUEUE, self.number, values(self, given))
end

-- Sends the statement without waiting; returns the table that has its rows when they have been waited for.
function statement:ask(given)
   return yield(host.ASK, self.number, values(self, given))
end

-- Declares a statement, with the types of its parameters and of its columns, while a script loads.
function host.declare(sql, parameters, columns)
   local names = {}
   for name in pairs(parameters or {}) do
      names[#names + 1] = name
   end
   table.sort(names)
   local line = getinfo(2, "l").currentline
   local number, unknown = host.add(sql, line, names, parameters or {}, columns or {})
   if unknown then
      error(unknown, 2)
   end
   return setmetatable({number = number, names = names, values = {}}, statement)
end

function host.flush()
   yield(host.FLUSH)
end

function host.sleep(seconds)
   yield(host.SLEEP, seconds)
end
