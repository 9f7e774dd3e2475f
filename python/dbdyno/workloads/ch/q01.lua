-- Lines that were delivered, by their place in the order.
local query = statement([[
   select ol_number, sum(ol_quantity) as quantity, sum(ol_amount) as amount,
      avg(ol_quantity) as average_quantity, avg(ol_amount) as average_amount, count(*) as order_lines
   from order_line
   where ol_delivery_d >= date '2026-01-01'
   group by ol_number
   order by ol_number]])

function transaction()
   query()
end
