-- Connections, statements, parameters and results, as scripts see them.
--
-- Nothing here talks to a server: each exchange is a request that the client's coroutine yields,
-- and it is resumed with the answer: a result, or nil and a failure.
local host, library = ...
local ask = host.ask
local yield = coroutine.yield
local floor, ceil = math.floor, math.ceil
local ffi = require("ffi")
local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")

-- The maximum size of a multi-row INSERT, as in sysbench: 512 KiB.
local BULK_BYTES_MAX = 524288

local types = {
   NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7,
   DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
}
local errors = {NONE = 0, IGNORABLE = 1, FATAL = 2}

-- How values of a type are sent: i integers, d doubles, s text; other types are not supported.
local kinds = {
   [types.TINYINT] = "i", [types.SMALLINT] = "i", [types.INT] = "i", [types.BIGINT] = "i",
   [types.FLOAT] = "d", [types.DOUBLE] = "d", [types.CHAR] = "s", [types.VARCHAR] = "s",
}

local function unsupported(number)
   for name, known in pairs(types) do
      if known == number then
         return "Unsupported argument type: " .. name
            .. " (use VARCHAR and bind the value as text, '2024-01-31 12:00:00' for example)"
      end
   end
   return "Unsupported argument type: " .. tostring(number)
      .. " (use one of sysbench.sql.type, such as INT, DOUBLE or VARCHAR)"
end

local result = {}
result.__index = result
result.__tostring = function() return "<sql_result>" end

function result:fetch_row()
   self.at = self.at + 1
   return self.rows[self.at]
end

function result:free()
   return true
end

-- Stands for a result whose rows were not kept: using it is an error.
local unkept = setmetatable({}, {
   __index = function()
      error("the rows were not kept: nothing in the script was seen to look at them", 2)
   end,
   __tostring = result.__tostring,
})

local connection = {}
connection.__index = connection
connection.__tostring = function() return "<sql_connection>" end

-- The client's connections that are open, by their numbers from 0: the engine makes the first one
-- before the script runs, and `connect` takes the lowest number that is free. As in sysbench, a
-- connection that the script has lost sight of is open until it is collected as garbage; its number
-- is then free, and the next connection of that number replaces it.
function library.connections(client)
   client.connections = setmetatable({}, {__mode = "v"})
   client.is_first_unused = true
end

-- What was prepared on the connection is closed with it.
local function close(self)
   self.open = false
   for _, prepared in pairs(self.prepared) do
      prepared.number = nil
   end
   self.prepared = {}
end

-- Closes the connections that were opened since this event began: what it knew of them is gone.
function library.close_opened_in_event(client)
   for number, opened in pairs(client.connections) do
      if client.event and opened.event == client.event then
         close(opened)
         client.connections[number] = nil
         yield(ask.DISCONNECT, number)
      end
   end
end

-- The connections have been closed, or were lost: what the script still holds of them is void.
function library.close_all(client)
   for _, opened in pairs(client.connections) do
      close(opened)
   end
   library.connections(client)
end

local function must_be_open(self, level)
   if not self.open then
      error("attempt to use an already closed connection", level + 1)
   end
end

local function must_be_usable(self, query)
   must_be_open(self, 3)
   if type(query) ~= "string" then
      error("a statement must be text, not " .. type(query), 3)
   end
end

-- What the last statement of a connection reported is over once another one succeeds.
local function succeeded(self)
   if self.error ~= errors.NONE then
      self.error, self.sql_errno, self.sql_state, self.sql_errmsg = errors.NONE, 0, nil, nil
   end
end

-- The first result is returned, the others wait for `next_result`.
local function answered(self, query, results, failure)
   if failure then
      self.error = failure.ignorable and errors.IGNORABLE or errors.FATAL
      self.sql_errno, self.sql_state = failure.number, failure.state
      self.sql_errmsg = failure.message
      -- PostgreSQL's transaction block is void now, and the event restarts.
      if failure.ignorable and host.driver == "pgsql" then
         yield(ask.QUERY, self.number, "ROLLBACK")
      end
      return self:check_error(nil, query)
   end
   succeeded(self)
   self.results, self.at = results or nil, 1
   if results == false then
      return unkept
   end
   return results and setmetatable(results[1], result)
end

-- What to do where PostgreSQL does not know a statement that the client prepared, or knows it already.
local session_is_shared = " (a pooler lends one session to several clients: use -M simple, "
   .. "or let the pooler know of prepared statements; PgBouncer, from 1.21 on: "
   .. "max_prepared_statements)"

function connection:check_error(found, query)
   if found ~= nil or self.error == errors.NONE then
      return found
   end
   local description = {
      connection = self, query = query, sql_errno = self.sql_errno,
      sql_state = self.sql_state, sql_errmsg = self.sql_errmsg,
   }
   local hook = self.client.sysbench.hooks.sql_error_ignorable
   local fatal = self.error == errors.FATAL
   if not fatal or type(hook) == "function" and hook(description) then
      description.errcode = library.errors.RESTART_EVENT
      error(description, 2)
   end
   local shared = host.driver == "pgsql" and (self.sql_state == "42P05" or self.sql_state == "26000")
   local message = string.format("SQL error, errno = %d, state = '%s': %s%s", self.sql_errno,
                                 self.sql_state, self.sql_errmsg,
                                 shared and session_is_shared or "")
   self.client.refusal = {message = message, state = self.sql_state}
   error(message, 2)
end

function connection:query(query)
   must_be_usable(self, query)
   return answered(self, query, yield(ask.QUERY, self.number, query))
end

function connection:query_row(query)
   must_be_usable(self, query) -- reported for the script's line, not for the one below
   local found = self:query(query)
   local row = found and found:fetch_row()
   if not row then
      return nil
   end
   return unpack(row, 1, found.nfields)
end

function connection:more_results()
   local results = self.results
   return results ~= nil and results[self.at + 1] ~= nil
end

function connection:next_result()
   self.at = (self.at or 0) + 1
   local found = self.results and self.results[self.at]
   return found and setmetatable(found, result)
end

function connection:disconnect()
   must_be_open(self, 2)
   close(self)
   self.client.connections[self.number] = nil
   yield(ask.DISCONNECT, self.number)
   return true
end

local function lowest_free_number(connections)
   local number = 0
   while connections[number] do
      number = number + 1
   end
   return number
end

function connection:reconnect()
   if not self.open then
      self.number = lowest_free_number(self.client.connections)
      self.client.connections[self.number], self.open = self, true
      self.client.is_first_unused = false
   end
   yield(ask.RECONNECT, self.number)
   return true
end

function connection:bulk_insert_init(query)
   must_be_open(self, 2)
   if #query + 1 > BULK_BYTES_MAX then
      error("the statement is longer than " .. BULK_BYTES_MAX .. " bytes", 2)
   end
   self.bulk = {head = query, bytes = #query, rows = {}, count = 0}
   return true
end

local function flush(self)
   local bulk = self.bulk
   if bulk.count == 0 then
      return
   end
   local query = bulk.head .. table.concat(bulk.rows, ",", 1, bulk.count)
   bulk.count, bulk.bytes = 0, #bulk.head
   answered(self, query, yield(ask.QUERY, self.number, query))
end

function connection:bulk_insert_next(row)
   local bulk = self.bulk
   if not bulk then
      error("attempt to call bulk_insert_next() before bulk_insert_init()", 2)
   end
   local comma = bulk.count > 0 and 1 or 0
   if bulk.bytes + #row + 1 + comma > BULK_BYTES_MAX then
      if bulk.count == 0 then
         error("a row is longer than " .. BULK_BYTES_MAX .. " bytes", 2)
      end
      flush(self)
      comma = 0
   end
   bulk.count = bulk.count + 1
   bulk.rows[bulk.count] = row
   bulk.bytes = bulk.bytes + #row + comma
   return true
end

function connection:bulk_insert_done()
   if self.bulk then
      flush(self)
      self.bulk = nil
   end
   return true
end

local parameter = {}
parameter.__index = parameter
parameter.__tostring = function() return "<sql_param>" end

local function is_long(value)
   return type(value) == "cdata" and (ffi.istype(int64, value) or ffi.istype(uint64, value))
end

-- A 64-bit integer (of `uniform_uint64`, for example) is sent as digits, since Lua's numbers are
-- doubles. As in sysbench, the bits of an unsigned one are interpreted as signed.
local function whole(value)
   if is_long(value) then
      return tostring(ffi.cast(int64, value)):match("^-?%d+")
   elseif type(value) == "boolean" then
      return value and 1 or 0
   end
   local number = tonumber(value)
   if not number or type(value) == "string" then
      error("cannot convert '" .. type(value) .. "' to a whole number", 3)
   end
   return number < 0 and ceil(number) or floor(number)
end

function parameter:set(value)
   local kind = self.kind
   if value == nil then
      self.value = nil
   elseif kind == "i" then
      self.value = whole(value)
   elseif kind == "d" then
      if type(value) ~= "number" and not is_long(value) then
         error("cannot convert '" .. type(value) .. "' to a double", 2)
      end
      self.value = tonumber(value)
   else
      if type(value) ~= "string" then
         error("cannot convert '" .. type(value) .. "' to text", 2)
      end
      self.value = #value > self.length and value:sub(1, self.length) or value
   end
end

function parameter:set_rand_str(template)
   if self.kind ~= "s" then
      error("set_rand_str() sets text: bind the parameter as CHAR or VARCHAR", 2)
   end
   self:set(host.string(template))
end

local statement = {}
statement.__index = statement
statement.__tostring = function() return "<sql_statement>" end

function connection:prepare(query)
   must_be_usable(self, query)
   local number, failure = yield(ask.PREPARE, self.number, query)
   if failure then
      return answered(self, query, nil, failure)
   end
   succeeded(self)
   local wanted = host.parameters(query)
   local prepared = {connection = self, number = number, count = 0, wanted = wanted}
   self.prepared[number] = prepared
   return setmetatable(prepared, statement)
end

function statement:bind_create(kind_of, length)
   local kind = kinds[kind_of]
   if not kind then
      error(unsupported(kind_of), 2)
   end
   if kind == "s" and type(length) ~= "number" then
      error("the longest length of a text is missing", 2)
   end
   -- Until it is set, it is what sysbench's buffer contains.
   local value = kind == "s" and "" or 0
   return setmetatable({type = kind_of, kind = kind, length = length, value = value}, parameter)
end

function statement:bind_param(...)
   local parameters, letters = {...}, {}
   for place, bound in ipairs(parameters) do
      letters[place] = bound.kind
   end
   self.parameters, self.count = parameters, #parameters
   yield(ask.BIND, self.number, table.concat(letters))
   return 0
end

-- The values of a statement's parameters. Most have few, and need no temporary table.
local function values(parameters, count)
   if count == 1 then
      return parameters[1].value
   elseif count == 2 then
      return parameters[1].value, parameters[2].value
   elseif count == 4 then
      return parameters[1].value, parameters[2].value, parameters[3].value, parameters[4].value
   end
   local all = {}
   for place = 1, count do
      all[place] = parameters[place].value
   end
   return unpack(all, 1, count)
end

function statement:execute()
   local number, count = self.number, self.count
   if not number then
      error("attempt to use a closed statement", 2)
   end
   if count ~= self.wanted then
      error(count .. " parameters are bound, the statement has " .. self.wanted, 2)
   end
   if count == 0 then
      return answered(self.connection, "<prepared statement>", yield(ask.EXECUTE, number))
   end
   return answered(self.connection, "<prepared statement>",
                   yield(ask.EXECUTE, number, values(self.parameters, count)))
end

function statement:next_result()
   return self.connection:next_result()
end

function statement:close()
   if self.number then
      self.connection.prepared[self.number] = nil
      yield(ask.CLOSE, self.number)
      self.number = nil
   end
   return 0
end

local driver = {}
driver.__index = driver
driver.__tostring = function() return "<sql_driver>" end

function driver:name()
   return host.driver
end

function driver:connect()
   local client = self.client
   local number = lowest_free_number(client.connections)
   local opened = setmetatable({
      client = client, driver = self, number = number, event = client.event, prepared = {},
      open = true, error = errors.NONE, sql_errno = 0,
   }, connection)
   client.connections[number] = opened
   if client.is_first_unused then
      client.is_first_unused = false
   else
      yield(ask.CONNECT, number)
   end
   return opened
end

-- `sysbench.sql` of one client.
function library.sql(client)
   local sql = {type = types, error = errors}
   function sql.driver(name)
      if name ~= nil and name ~= host.driver then
         error("failed to initialize the DB driver '" .. tostring(name)
            .. "': the target's is '" .. host.driver .. "'", 2)
      end
      return setmetatable({client = client, sname = host.driver}, driver)
   end
   return sql
end
