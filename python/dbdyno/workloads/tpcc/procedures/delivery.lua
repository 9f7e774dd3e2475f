-- Delivers the oldest new order of each district.
local deliver = statement(call .. "dbdyno_delivery(:w, :carrier)", {w = "int", carrier = "int"})

function transaction()
   deliver {w = home, carrier = random.uniform(1, 10)}
end
