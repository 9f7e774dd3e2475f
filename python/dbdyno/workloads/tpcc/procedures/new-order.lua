-- A new order; of its lines, the items, suppliers and quantities are lists in a text.
local new_order = statement(
   "call dbdyno_new_order(:w, :d, :c, :all_local, :items, :supplies, :quantities" .. results .. ")",
   {w = "int", d = "int", c = "int", all_local = "int", items = "text", supplies = "text",
    quantities = "text"},
   {o = "int", total = "decimal"})

local function listed(lines, name)
   local values = {}
   for number, line in ipairs(lines) do
      values[number] = line[name]
   end
   return table.concat(values, ",")
end

function transaction()
   local order = entered_order()
   local lines = order.lines
   local answer = new_order {
      w = home, d = order.d, c = order.c, all_local = order.all_local,
      items = listed(lines, "item"), supplies = listed(lines, "supply"),
      quantities = listed(lines, "ordered"),
   }
   if not answer[1].o then
      rolled_back()
   end
end
