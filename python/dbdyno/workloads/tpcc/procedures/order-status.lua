-- The last order of a customer found by number or by last name, a row for each of its lines.
local order_status = statement(call .. "dbdyno_order_status(:w, :d, :c, :name)",
   {w = "int", d = "int", c = "int", name = "text"})

function transaction()
   local d = random.uniform(1, 10)
   local name, c = drawn_name_or_customer(order_status_by_name)
   order_status {w = home, d = d, c = c, name = name}
end
