-- Delivers the oldest new order of each district.
local deliver = statement(call .. "dbdyno_delivery(:w, :carrier)", {w = "int", carrier = "int"},
   {delivered = "int"})

function transaction()
   local answer = deliver {w = warehouse_of_client(), carrier = random.uniform(1, 10)}
   count_skipping(answer[1].delivered)
end
