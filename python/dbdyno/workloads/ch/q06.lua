-- Revenue of delivered lines of some quantities.
local query = statement([[
   select sum(ol_amount) as revenue
   from order_line
   where ol_delivery_d >= date '2026-01-01' and ol_delivery_d < date '2100-01-01'
      and ol_quantity between 1 and 100000]])

function transaction()
   query()
end
