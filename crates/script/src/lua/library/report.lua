-- Built-in reports for a script's hooks, and a script's own histograms.
local host, library = ...

local function print_to_log(format, ...)
   host.write(string.format(format, ...) .. "\n")
end

local function per_second(stat)
   local seconds = stat.time_interval
   return stat.events / seconds, (stat.reads + stat.writes + stat.other) / seconds,
      stat.reads / seconds, stat.writes / seconds, stat.other / seconds,
      stat.errors / seconds, stat.reconnects / seconds
end

local function as_text(stat, percentile)
   local events, queries, reads, writes, other, errors, reconnects = per_second(stat)
   print_to_log("[ %.0fs ] thds: %u tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) "
                   .. "lat (ms,%u%%): %4.2f err/s %4.2f reconn/s: %4.2f",
                stat.time_total, stat.threads_running, events, queries, reads, writes, other,
                percentile, stat.latency_pct * 1000, errors, reconnects)
end

local function as_csv(stat)
   local events, queries, reads, writes, other, errors, reconnects = per_second(stat)
   print_to_log("%.0f,%u,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f",
                stat.time_total, stat.threads_running, events, queries, reads, writes, other,
                stat.latency_pct * 1000, errors, reconnects)
end

-- One object of a JSON array per line; the closing bracket is written when there are no more
-- reports.
local function as_json(stat, first)
   local events, queries, reads, writes, other, errors, reconnects = per_second(stat)
   print_to_log('%s{"time": %.0f, "threads": %u, "tps": %.2f, "qps": {"total": %.2f, '
                   .. '"reads": %.2f, "writes": %.2f, "other": %.2f}, "latency": %.2f, '
                   .. '"errors": %.2f, "reconnects": %.2f}',
                first and "[" or ",", stat.time_total, stat.threads_running, events, queries,
                reads, writes, other, stat.latency_pct * 1000, errors, reconnects)
end

-- Adds the built-in reports to a client, and what is to be called after the last one.
function library.reports(sysbench)
   local objects = 0
   sysbench.report_csv = as_csv

   function sysbench.report_default(stat)
      as_text(stat, sysbench.opt.percentile)
   end

   function sysbench.report_json(stat)
      objects = objects + 1
      as_json(stat, objects == 1)
   end

   return function()
      if objects > 0 then
         host.write("]\n")
      end
   end
end

local histogram = {}
histogram.__index = histogram
histogram.__tostring = function() return "<sb_histogram>" end

-- Buckets grow by a constant factor from the smallest to the largest value; values outside are
-- counted in the first or last one.
function histogram:update(value)
   local steps = math.floor((math.log(value) - self.low) * self.scale + 0.5)
   local cell = math.max(0, math.min(self.size - 1, steps))
   self.counts[cell] = (self.counts[cell] or 0) + 1
end

local function highest(counts, size)
   local most = 0
   for cell = 0, size - 1 do
      most = math.max(most, counts[cell] or 0)
   end
   return most
end

function histogram:print()
   local most = highest(self.counts, self.size)
   print_to_log("       value  ------------- distribution ------------- count")
   for cell = 0, self.size - 1 do
      local count = self.counts[cell]
      if count then
         local bar = string.rep("*", math.floor(count * 40 / most + 0.5))
         print_to_log("%12.3f |%-40s %u", math.exp(cell / self.scale + self.low), bar, count)
      end
   end
end

library.histogram = {
   new = function(size, least, greatest)
      local low = math.log(least)
      local scale = (size - 1) / (math.log(greatest) - low)
      return setmetatable({size = size, low = low, scale = scale, counts = {}}, histogram)
   end,
}
