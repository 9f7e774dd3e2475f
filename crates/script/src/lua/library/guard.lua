-- What a script may use of Lua itself: the shared part of every client's environment.
--
-- Scripts never see the state's own globals. `os`, `io`, `ffi` and `require` are small tables that
-- do what load scripts need and name the switch that allows the rest. With unsafe Lua allowed, they
-- fall back to the real ones.
local host, library = ...
local ask = host.ask

-- Hundreds of clients share this state: by default the garbage collector would wait until garbage
-- took as much memory as all that they hold.
collectgarbage("setpause", 140)

local function refused(what)
   return function()
      error(what .. " is not available without --allow-unsafe-lua", 2)
   end
end

-- A table that has `own` first, then what the real library has, if that is allowed.
local function over(own, real, name)
   local behind = host.unsafe and real or function(_, key)
      return refused(name .. "." .. tostring(key))
   end
   return setmetatable(own, {__index = behind})
end

-- A script's own coroutines: their requests to the server are passed on by their creator.
local is_ask = {}
for _, request in pairs(ask) do
   is_ask[request] = true
end

local function pass_on(thread, alive, first, ...)
   if alive and is_ask[first] then
      return pass_on(thread, coroutine.resume(thread, coroutine.yield(first, ...)))
   end
   return alive, first, ...
end

local function results(alive, ...)
   if not alive then
      error((...), 0)
   end
   return ...
end

local coroutines = setmetatable({
   resume = function(thread, ...)
      return pass_on(thread, coroutine.resume(thread, ...))
   end,
   wrap = function(body)
      local thread = coroutine.create(body)
      return function(...)
         return results(pass_on(thread, coroutine.resume(thread, ...)))
      end
   end,
}, {__index = coroutine})

local function pause(seconds)
   coroutine.yield(ask.SLEEP, seconds)
   return 0
end

local restricted_os = {
   time = os.time, clock = os.clock, date = os.date, difftime = os.difftime,
   -- The environment may hold passwords; but nil for a variable that is set would be a lie.
   getenv = function(name)
      if os.getenv(name) ~= nil then
         error(("os.getenv(%q) is not available without --allow-unsafe-lua"):format(name), 2)
      end
      return nil
   end,
   -- The one command that load scripts need is a pause; it blocks only its own client.
   execute = function(command)
      local seconds = tonumber(tostring(command):match("^%s*sleep%s+([%d.]+)%s*$"))
      if seconds then
         return pause(seconds)
      end
      if host.unsafe then
         return os.execute(command)
      end
      error("os.execute is not available without --allow-unsafe-lua, but for \"sleep N\"", 2)
   end,
}
if host.unsafe then
   restricted_os.getenv = nil
end

local output = {}
function output:write(...)
   for place = 1, select("#", ...) do
      host.write(tostring((select(place, ...))))
   end
   return self
end
function output:flush() return self end
function output:setvbuf() return true end

local restricted_io = {
   stdout = output, stderr = output,
   write = function(...) return output:write(...) end,
   flush = function() end,
}

local counters = {
   SB_CNT_OTHER = 0, SB_CNT_READ = 1, SB_CNT_WRITE = 2, SB_CNT_TRX = 3, SB_CNT_ERROR = 4,
   SB_CNT_RECONNECT = 5, SB_CNT_BYTES_READ = 6, SB_CNT_BYTES_WRITTEN = 7, SB_CNT_MAX = 8,
}

local symbols = {
   usleep = function(microseconds) return pause(tonumber(microseconds) / 1e6) end,
   sleep = pause,
   sb_counter_inc = function(_, counter) host.count(counter) end,
   -- A script with a loop of its own waits here for its next transaction; a client that is not
   -- needed any more is simply not resumed.
   sb_more_events = function()
      coroutine.yield(ask.NEXT)
      return true
   end,
   sb_event_start = function() end,
   sb_event_stop = function() coroutine.yield(ask.OVER) end,
}
for name, number in pairs(counters) do
   symbols[name] = number
end

local real_ffi = require("ffi")

-- What are pointers to characters in sysbench, such as the message of a connection's error, are
-- strings here.
local function text_of(value, length)
   if type(value) ~= "string" then
      error("ffi.string of a pointer is not available without --allow-unsafe-lua", 2)
   end
   return length and value:sub(1, length) or value
end

local restricted_ffi = {
   C = over(symbols, real_ffi.C, "ffi.C"),
   os = jit.os, arch = jit.arch, string = not host.unsafe and text_of or nil,
   cdef = function(declarations)
      if host.unsafe then
         real_ffi.cdef(declarations)
      end
   end,
}

-- Source text only: there is no verifier for byte code.
local function compile(text, name, environment)
   if text:sub(1, 1) == "\27" then
      return nil, "byte code is not loaded"
   end
   local chunk, message = loadstring(text, name or text)
   if chunk then
      setfenv(chunk, environment)
   end
   return chunk, message
end

local function joined(read)
   local pieces = {}
   for piece in read do
      if piece == "" then break end
      pieces[#pieces + 1] = piece
   end
   return table.concat(pieces)
end

local base = {
   _VERSION = _VERSION,
   assert = assert, error = error, ipairs = ipairs, next = next, pairs = pairs, pcall = pcall,
   rawequal = rawequal, rawget = rawget, rawset = rawset, select = select, tonumber = tonumber,
   tostring = tostring, type = type, unpack = unpack, xpcall = xpcall, gcinfo = gcinfo,
   collectgarbage = collectgarbage, newproxy = newproxy, setmetatable = setmetatable,
   getmetatable = getmetatable, setfenv = setfenv,
   string = string, table = table, bit = bit,
   math = setmetatable({random = host.random, randomseed = host.randomseed}, {__index = math}),
   coroutine = coroutines,
   debug = host.unsafe and debug or {traceback = debug.traceback},
   jit = host.unsafe and jit or {version = jit.version, os = jit.os, arch = jit.arch},
   os = over(restricted_os, os, "os"),
   io = over(restricted_io, io, "io"),
   print = function(...)
      local words = {}
      for place = 1, select("#", ...) do
         words[place] = tostring((select(place, ...)))
      end
      host.write(table.concat(words, "\t") .. "\n")
   end,
}
library.base = {__index = base}
library.ffi = over(restricted_ffi, real_ffi, "ffi")

-- Modules that `require` need not look for: Lua's own libraries, as far as they may be used.
local function libraries(environment)
   local loaded = {_G = environment, ffi = library.ffi}
   for name, value in pairs(base) do
      if type(value) == "table" then
         loaded[name] = value
      end
   end
   return loaded
end

-- The global table that a module's name stands for.
local function table_named(environment, name)
   local found = environment
   for part in name:gmatch("[^.]+") do
      if rawget(found, part) == nil then
         rawset(found, part, {})
      end
      found = rawget(found, part)
      if type(found) ~= "table" then
         error("name conflict for module '" .. name .. "'", 3)
      end
   end
   return found
end

-- The functions that depend on the environment they are called in.
function library.loaders(environment)
   local loaded = libraries(environment)
   local package = {path = host.path, cpath = "", loaded = loaded, preload = {}}
   loaded.package = package

   function environment.getfenv(what)
      local found = getfenv(type(what) == "number" and what > 0 and what + 1 or what or 2)
      return found == _G and environment or found
   end

   function environment.loadstring(text, name)
      return compile(text, name, environment)
   end

   function environment.load(source, name)
      local text = type(source) == "function" and joined(source) or source
      return compile(text, name, environment)
   end

   local function chunk_of(name)
      local chunk = host.chunk(name)
      if not chunk and host.unsafe then
         local file = package.path:gsub("%?", (name:gsub("%.", "/")))
         for candidate in file:gmatch("[^;]+") do
            chunk = chunk or loadfile(candidate)
         end
      end
      return chunk and setfenv(chunk, environment)
   end

   -- A folder that a script adds to `package.path` is known by its last name.
   local function chunk_in_folders(name)
      for folder in package.path:gmatch("([^/;]+)/%?%.lua") do
         local chunk = chunk_of(folder .. "." .. name)
         if chunk then
            return chunk
         end
      end
   end

   -- The folder in which a path begins is not known here: its end identifies the file.
   local function chunk_at(path)
      local chunk = host.unsafe and loadfile(path)
      if chunk then
         return setfenv(chunk, environment)
      end
      local folder, name = ("/" .. path):gsub("%.lua$", ""):match("([^/]*)/([^/]+)$")
      return chunk_of(folder .. "." .. name) or chunk_of(name)
   end

   function environment.dofile(path)
      local chunk = chunk_at(path)
      if not chunk then
         error("cannot open " .. path, 2)
      end
      return chunk()
   end

   -- All clients share a chunk, and one that is loaded may be called later, at another place.
   function environment.loadfile(path)
      local loads, chunk = pcall(chunk_at, path)
      if not (loads and chunk) then
         return nil, loads and "cannot open " .. path or tostring(chunk)
      end
      local setfenv, getfenv = setfenv, getfenv
      return setfenv(function(...)
         return setfenv(chunk, getfenv(1))(...)
      end, environment)
   end

   function environment.require(name)
      if loaded[name] ~= nil then
         return loaded[name]
      end
      local chunk = package.preload[name] or chunk_of(name) or chunk_in_folders(name)
      if not chunk then
         error("module '" .. name .. "' not found: no file '" .. name:gsub("%.", "/")
            .. ".lua' beside the script, in the current folder, in one that the script names in "
            .. "quotes, in LUA_PATH, or in sysbench's folder", 2)
      end
      loaded[name] = true
      local result = chunk(name)
      if result ~= nil then
         loaded[name] = result
      end
      return loaded[name]
   end

   function environment.module(name, ...)
      local own = loaded[name]
      if type(own) ~= "table" then
         own = table_named(environment, name)
      end
      if own._NAME == nil then
         own._M, own._NAME, own._PACKAGE = own, name, name:match("^.*%.") or ""
      end
      loaded[name] = own
      setfenv(2, own)
      for place = 1, select("#", ...) do
         select(place, ...)(own)
      end
   end

   function package.seeall(own)
      setmetatable(own, {__index = environment})
   end

   environment.package = package
end
