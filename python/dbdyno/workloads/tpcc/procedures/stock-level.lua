-- How many items of the last 20 orders of the client's own district are low in stock.
local stock_level = statement(call .. "dbdyno_stock_level(:w, :d, :threshold)",
   {w = "int", d = "int", threshold = "int"})

function transaction()
   stock_level {w = home, d = home_district, threshold = random.uniform(10, 20)}
end
