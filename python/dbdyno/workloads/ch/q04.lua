-- Orders of which a line was delivered, by their number of lines.
local query = statement([[
   select o_ol_cnt, count(*) as order_count
   from orders
   where o_entry_d >= date '2026-01-01'
      and exists (
         select 1 from order_line
         where ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id and ol_delivery_d >= o_entry_d)
   group by o_ol_cnt
   order by o_ol_cnt]])

function transaction()
   query()
end
