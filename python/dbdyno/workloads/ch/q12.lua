-- Delivered lines of important and of other carriers, by the number of lines of their order.
local query = statement([[
   select o_ol_cnt,
      sum(case when o_carrier_id in (1, 2) then 1 else 0 end) as important_lines,
      sum(case when o_carrier_id in (1, 2) then 0 else 1 end) as other_lines
   from orders
      join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
   where ol_delivery_d >= o_entry_d and ol_delivery_d < date '2100-01-01'
   group by o_ol_cnt
   order by o_ol_cnt]])

function transaction()
   query()
end
