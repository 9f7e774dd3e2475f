-- Options: sysbench's own, those that the script declares, and those given.
local host, library = ...

local types = {
   ARG_NULL = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3, ARG_DOUBLE = 4, ARG_STRING = 5,
   ARG_LIST = 6, ARG_FILE = 7, ARG_MAX = 8,
}
local type_of_default = {
   boolean = types.ARG_BOOL, number = types.ARG_DOUBLE, string = types.ARG_STRING,
   table = types.ARG_LIST,
}
local factors = {[""] = 1, K = 2^10, M = 2^20, G = 2^30, T = 2^40}
local truths = {on = true, ["true"] = true, ["1"] = true, off = false, ["false"] = false,
                ["0"] = false}

-- sysbench's own options, as scripts find them in `sysbench.opt`.
local general = {
   threads = {types.ARG_INT, host.threads}, events = {types.ARG_INT, 0},
   time = {types.ARG_INT, 10}, warmup_time = {types.ARG_INT, 0},
   forced_shutdown = {types.ARG_STRING, "off"}, thread_stack_size = {types.ARG_SIZE, 65536},
   thread_init_timeout = {types.ARG_INT, 30}, rate = {types.ARG_INT, 0},
   report_interval = {types.ARG_INT, 0}, report_checkpoints = {types.ARG_LIST, {}},
   debug = {types.ARG_BOOL, false}, validate = {types.ARG_BOOL, false},
   help = {types.ARG_BOOL, false}, version = {types.ARG_BOOL, false},
   config_file = {types.ARG_FILE}, luajit_cmd = {types.ARG_STRING, ""},
   tx_rate = {types.ARG_INT, 0}, max_requests = {types.ARG_INT, 0},
   max_time = {types.ARG_INT, 0}, num_threads = {types.ARG_INT, host.threads},
   rand_type = {types.ARG_STRING, "special"}, rand_seed = {types.ARG_INT, 0},
   rand_spec_iter = {types.ARG_INT, 12}, rand_spec_pct = {types.ARG_INT, 1},
   rand_spec_res = {types.ARG_INT, 75}, rand_pareto_h = {types.ARG_DOUBLE, 0.2},
   rand_zipfian_exp = {types.ARG_DOUBLE, 0.8}, verbosity = {types.ARG_INT, 3},
   percentile = {types.ARG_INT, 95}, histogram = {types.ARG_BOOL, false},
   db_driver = {types.ARG_STRING, host.driver}, db_ps_mode = {types.ARG_STRING, "auto"},
   db_debug = {types.ARG_BOOL, false},
   mysql_host = {types.ARG_LIST, {"localhost"}}, mysql_port = {types.ARG_LIST, {"3306"}},
   mysql_socket = {types.ARG_LIST, {}}, mysql_user = {types.ARG_STRING, "sbtest"},
   mysql_password = {types.ARG_STRING, ""}, mysql_db = {types.ARG_STRING, "sbtest"},
   mysql_ssl = {types.ARG_STRING, "off"}, mysql_ssl_cipher = {types.ARG_STRING, ""},
   mysql_ssl_key = {types.ARG_STRING, ""}, mysql_ssl_ca = {types.ARG_STRING, ""},
   mysql_ssl_cert = {types.ARG_STRING, ""}, mysql_compression = {types.ARG_BOOL, false},
   mysql_compression_algorithms = {types.ARG_STRING, "zlib"},
   mysql_debug = {types.ARG_BOOL, false}, mysql_dry_run = {types.ARG_BOOL, false},
   mysql_ignore_errors = {types.ARG_LIST, {"1213", "1020", "1205"}},
   pgsql_host = {types.ARG_STRING, "localhost"}, pgsql_port = {types.ARG_INT, 5432},
   pgsql_user = {types.ARG_STRING, "sbtest"}, pgsql_password = {types.ARG_STRING, ""},
   pgsql_db = {types.ARG_STRING, "sbtest"}, pgsql_sslmode = {types.ARG_STRING, "prefer"},
}

local function size(text)
   local number, unit = text:match("^([%d.]+)([KMGT]?)$")
   return tonumber(number) and tonumber(number) * factors[unit]
end

local function listed(text)
   local list = {}
   for word in text:gmatch("[^,]+") do
      list[#list + 1] = word
   end
   return list
end

local read = {
   [types.ARG_NULL] = function() return nil end,
   [types.ARG_BOOL] = function(text)
      if text == "" then
         return true
      end
      return truths[text]
   end,
   [types.ARG_INT] = function(text)
      local number = tonumber(text)
      return number and number % 1 == 0 and number or nil
   end,
   [types.ARG_SIZE] = size,
   [types.ARG_DOUBLE] = tonumber,
   [types.ARG_STRING] = function(text) return text end,
   [types.ARG_LIST] = listed,
   [types.ARG_FILE] = function(text) return text end,
}
local kind_names = {
   [types.ARG_NULL] = "nothing", [types.ARG_BOOL] = "on or off",
   [types.ARG_INT] = "a whole number", [types.ARG_SIZE] = "a size",
   [types.ARG_DOUBLE] = "a number",
}

local function type_of(name, definition)
   local stated = definition[3]
   local found = stated or definition[2] == nil and types.ARG_STRING
      or type_of_default[type(definition[2])]
   assert(read[found], "cannot determine type for option " .. name)
   return found
end

-- The value of an option that has no default and is not given; for a file, there is none. sysbench
-- reads a missing default like a flag without a value: as on.
local function unset(kind)
   if kind == types.ARG_BOOL then
      return true
   elseif kind == types.ARG_INT or kind == types.ARG_SIZE or kind == types.ARG_DOUBLE then
      return 0
   elseif kind == types.ARG_LIST then
      return {}
   end
   return kind == types.ARG_STRING and "" or nil
end

-- The script's declarations: name -> {type, default, description, validate, name as written}.
local function declared(options)
   local found = {}
   for name, definition in pairs(options) do
      assert(type(name) == "string" and type(definition) == "table",
             "wrong table structure in sysbench.cmdline.options")
      assert(type(definition[1]) == "string", "nil description for option " .. name)
      local default = definition[2]
      local kind = type_of(name, definition)
      if type(default) == "string" and kind ~= types.ARG_STRING then
         default = read[kind](default)
      end
      if default == nil then
         default = unset(kind)
      end
      found[name:gsub("-", "_")] = {kind, default, definition[1], definition[4], name}
   end
   return found
end

local function parsed(name, definition, text)
   local value = read[definition[1]](text)
   if value == nil and definition[1] ~= types.ARG_NULL then
      error("--" .. name .. " takes " .. kind_names[definition[1]] .. ", not '" .. text .. "'", 0)
   end
   local validate = definition[4]
   if validate and not validate(name, text) then
      error("invalid value for option --" .. name .. ": " .. text, 0)
   end
   return value
end

local function copied(value)
   if type(value) ~= "table" then
      return value
   end
   return {unpack(value)}
end

-- `sysbench.opt` of one client. A script that declares nothing accepts any option, as text.
local function values(specification)
   local opt = {}
   for _, group in ipairs {general, specification or {}} do
      for name, definition in pairs(group) do
         opt[name] = copied(definition[2])
      end
   end
   for name, text in pairs(host.arguments) do
      local definition = specification and specification[name] or general[name]
      if definition then
         opt[name] = parsed(name, definition, text)
      elseif specification then
         error("invalid option: --" .. name, 0)
      else
         opt[name] = text
      end
   end
   return opt
end

local function sorted_names(specification)
   local names = {}
   for name in pairs(specification) do
      names[#names + 1] = name
   end
   table.sort(names)
   return names
end

local placeholders = {
   [types.ARG_BOOL] = "[=on|off]", [types.ARG_INT] = "=N", [types.ARG_SIZE] = "=SIZE",
   [types.ARG_DOUBLE] = "=N", [types.ARG_STRING] = "=STRING", [types.ARG_LIST] = "=[LIST,...]",
   [types.ARG_FILE] = "=FILENAME", [types.ARG_NULL] = "",
}

local function default_text(value)
   if value == nil or value == "" or type(value) == "table" and #value == 0 then
      return ""
   elseif type(value) == "boolean" then
      return " [" .. (value and "on" or "off") .. "]"
   elseif type(value) == "table" then
      return " [" .. table.concat(value, ",") .. "]"
   end
   return " [" .. tostring(value) .. "]"
end

-- The help text about the script's own options.
local function help(specification)
   local lines = {host.script_name .. " options:"}
   for _, name in ipairs(sorted_names(specification)) do
      local kind, default, description, _, written = unpack(specification[name], 1, 5)
      lines[#lines + 1] = string.format("  --%-28s%s%s", written .. placeholders[kind],
                                        description, default_text(default))
   end
   return table.concat(lines, "\n") .. "\n"
end

local function specification_of(cmdline)
   return cmdline.options and declared(cmdline.options)
end

-- What is done once around the events is part of the command `run`.
local parts_of_run = {init = "run", done = "run"}

-- `sysbench.cmdline` of one client.
function library.cmdline(sysbench)
   local cmdline = {
      PARALLEL_COMMAND = true, command = parts_of_run[host.command] or host.command,
      script_path = host.script_path, argv = copied(host.argv),
   }
   for name, number in pairs(types) do
      cmdline[name] = number
   end

   function cmdline.read_cmdline_options()
      sysbench.opt = values(specification_of(cmdline))
      return true
   end

   function cmdline.command_defined(name)
      local commands = cmdline.commands
      return type(commands) == "table" and commands[name] ~= nil and commands[name][1] ~= nil
   end

   function cmdline.command_parallel(name)
      return cmdline.command_defined(name)
         and cmdline.commands[name][2] == cmdline.PARALLEL_COMMAND
   end

   function cmdline.call_command(name)
      if not cmdline.command_defined(name) then
         return false
      end
      return cmdline.commands[name][1]() ~= false
   end

   function cmdline.print_test_options()
      host.write(help(specification_of(cmdline) or {}))
   end

   return cmdline
end

-- Options go to `sysbench.opt`; for a script that declares none, also to the globals, where scripts
-- of 0.5 expect them. A function of the same name is not overwritten.
function library.export_options(environment)
   local sysbench = environment.sysbench
   sysbench.cmdline.read_cmdline_options()
   if sysbench.cmdline.options then
      return
   end
   for name, value in pairs(sysbench.opt) do
      if type(rawget(environment, name)) ~= "function" and not library.base.__index[name] then
         environment[name] = value
      end
   end
end
