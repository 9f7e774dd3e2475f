-- `sysbench.rand`: all laws draw from the stream of the client that is running.
local host, library = ...

library.rand = {
   default = host.default, uniform = host.uniform, gaussian = host.gaussian,
   special = host.special, pareto = host.pareto, zipfian = host.zipfian,
   unique = host.unique, string = host.string, varstring = host.varstring,
   uniform_double = host.uniform_double,
   -- A number that Lua's own, doubles all, cannot hold.
   uniform_uint64 = function()
      local high, low = host.uniform_halves()
      return high * 4294967296ULL + low
   end,
}
