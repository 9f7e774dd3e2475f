-- `sysbench.rand`: all distributions draw from the random stream of the running client.
local host, library = ...

library.rand = {
   default = host.default, uniform = host.uniform, gaussian = host.gaussian,
   special = host.special, pareto = host.pareto, zipfian = host.zipfian,
   unique = host.unique, string = host.string, varstring = host.varstring,
   uniform_double = host.uniform_double,
   -- An integer beyond the precision of Lua's numbers, which are doubles.
   uniform_uint64 = function()
      local high, low = host.uniform_halves()
      return high * 4294967296ULL + low
   end,
}
