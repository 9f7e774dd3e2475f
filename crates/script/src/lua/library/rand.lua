-- `sysbench.rand`: all distributions draw from the random stream of the running client.
local host, library = ...
local ffi = require("ffi")

-- LuaJIT compiles calls through ffi into a script's loops; calls of the host's functions end them.
local draw = ffi.cast("double (*)(const void *, uint32_t, double, double)", host.draw)
local laws = ffi.cast("const void *", host.laws)

-- A distribution over a range. The host's function converts what is no number, and raises errors.
local function over_range(name)
   local law, draw_slowly = host.law_numbers[name], host[name]
   return function(low, high)
      if type(low) == "number" and type(high) == "number" then
         local drawn = draw(laws, law, low, high)
         if drawn == drawn then
            return drawn
         end
      end
      return draw_slowly(low, high)
   end
end

library.rand = {
   default = over_range("default"), uniform = over_range("uniform"),
   gaussian = over_range("gaussian"), special = over_range("special"),
   pareto = over_range("pareto"), zipfian = over_range("zipfian"),
   unique = host.unique, string = host.string, varstring = host.varstring,
   uniform_double = host.uniform_double,
   -- An integer beyond the precision of Lua's numbers, which are doubles.
   uniform_uint64 = function()
      local high, low = host.uniform_halves()
      return high * 4294967296ULL + low
   end,
}
