-- A client: its environment, and the coroutine that runs the script for it.
local host, library = ...
local ask = host.ask
local yield = coroutine.yield

library.errors = {NONE = 0, RESTART_EVENT = 1}

local function new_sysbench(client, tid)
   local sysbench = {
      tid = tid, version = "1.0.20", version_string = "sysbench 1.0.20 (dbdyno)",
      opt = {}, error = library.errors, hooks = {}, rand = library.rand,
      histogram = library.histogram, sql = library.sql(client),
   }
   sysbench.cmdline = library.cmdline(sysbench)
   client.sysbench = sysbench
   client.end_reports = library.reports(sysbench)
   return sysbench
end

-- A client's own state, before the script is loaded.
local function new_environment(client, tid)
   local environment = setmetatable({}, library.base)
   environment._G = environment
   environment.ffi = library.ffi
   environment.sysbench = new_sysbench(client, tid)
   library.loaders(environment)
   library.legacy(environment, environment.sysbench)
   environment.sysbench.db = setmetatable({}, {__index = function(_, name)
      return environment["db_" .. name] or environment[name]
   end})
   return environment
end

-- Error messages carry their position; the error that restarts an event does not.
local function traced(problem)
   if type(problem) == "table" then
      return problem
   end
   return debug.traceback(tostring(problem), 2)
end

local function restarts(problem)
   return type(problem) == "table" and problem.errcode == library.errors.RESTART_EVENT
end

-- Runs the event until it succeeds, and returns its result.
local function attempt(client)
   local environment, sysbench = client.environment, client.sysbench
   while true do
      local done, result = xpcall(environment.event, traced, sysbench.tid)
      if done then
         return result
      elseif not restarts(result) then
         error(result, 0)
      end
      local hook = sysbench.hooks.before_restart_event
      if hook then
         hook(result)
      end
      yield(ask.RESTART)
   end
end

-- An event that returns true ends its client, and does not count: it has not been reported as over.
local function loop(client)
   repeat
      client.event = (client.event or 0) + 1
      yield(ask.NEXT)
   until attempt(client)
end

-- The entry points of a client's coroutine, by name.
local entries = {}

function entries.enter(client)
   local environment = client.environment
   library.close_all(client)
   if environment.thread_init then
      environment.thread_init(client.sysbench.tid)
   end
   entries.run(client)
end

-- Continues with events after one that was interrupted: what that one had opened is void.
function entries.again(client)
   library.close_opened_in_event(client)
   entries.run(client)
end

function entries.run(client)
   client.environment.thread_run(client.sysbench.tid)
   yield(ask.STOP)
end

function entries.leave(client)
   local environment = client.environment
   if environment.thread_done then
      environment.thread_done(client.sysbench.tid)
   end
end

-- Passes statistics to the script's own report hook, if it has one.
function entries.report(client, name, statistics)
   local hook = client.sysbench.hooks[name]
   if hook then
      hook(statistics)
   end
end

function entries.end_reports(client)
   client.end_reports()
end

-- The commands that a script may have besides its own table of commands.
local plain_commands = {prepare = true, cleanup = true, help = true, init = true, done = true}

local function has_function(environment, name)
   return type(rawget(environment, name)) == "function"
end

-- A command: of the script's own table, or the function of that name.
function entries.command(client)
   local environment, name = client.environment, host.command
   local cmdline = environment.sysbench.cmdline
   if cmdline.command_defined(name) then
      if not cmdline.call_command(name) then
         error("the command '" .. name .. "' reported a failure", 0)
      end
   elseif has_function(environment, name) then
      environment[name]()
   else
      cmdline.print_test_options()
   end
end

local function message_of(problem)
   return type(problem) == "table" and tostring(problem.sql_errmsg or "an error value")
      or tostring(problem)
end

-- The body of a coroutine. Only its last yield tells how it ended.
local function body(client, entry, ...)
   local done, problem = xpcall(entries[entry], traced, client, ...)
   if not done then
      local message, refusal = message_of(problem), client.refusal
      -- A script may have caught the server's error, and failed with another one.
      local is_refusal = refusal and message:find(refusal.message, 1, true)
      return ask.FAULT, message, is_refusal and refusal.state or nil
   end
   return ask.END
end

function library.thread(client)
   local thread = coroutine.create(body)
   debug.setfenv(thread, client.environment)
   return thread
end

-- A client with the script loaded and its options set; or nil and an error message.
function library.client(tid)
   local client = {}
   library.connections(client)
   client.environment = new_environment(client, tid)
   -- A script may replace this loop by its own, and call this function from there.
   client.environment.thread_run = function() loop(client) end
   local function load()
      setfenv(host.script, client.environment)()
      library.export_options(client.environment)
   end
   local thread = coroutine.create(function() return xpcall(load, traced) end)
   debug.setfenv(thread, client.environment)
   local _, done, problem = coroutine.resume(thread)
   if coroutine.status(thread) ~= "dead" then
      return nil, "the script talks to the server before it is asked to run"
   elseif done ~= true then
      return nil, message_of(problem)
   end
   return client
end

local function knows_command(environment, cmdline, name)
   return cmdline.command_defined(name) or name == "help"
      or plain_commands[name] and has_function(environment, name) or false
end

-- The properties of a script, before it runs.
function library.survey(client)
   local environment, commands = client.environment, {}
   local cmdline = environment.sysbench.cmdline
   for name in pairs(cmdline.commands or {}) do
      commands[#commands + 1] = name
   end
   for _, name in ipairs {"prepare", "cleanup"} do
      if has_function(environment, name) and not cmdline.command_defined(name) then
         commands[#commands + 1] = name
      end
   end
   if not cmdline.command_defined("help") then
      commands[#commands + 1] = "help"
   end
   table.sort(commands)
   return {
      commands = commands,
      has_event = has_function(environment, "event"),
      has_init = has_function(environment, "init"), has_done = has_function(environment, "done"),
      knows_command = knows_command(environment, cmdline, host.command),
      parallel = cmdline.command_parallel(host.command),
   }
end
