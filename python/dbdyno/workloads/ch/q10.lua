-- Customers who have received orders, those that paid most first.
local query = statement([[
   select c_w_id, c_d_id, c_id, c_last, sum(ol_amount) as revenue, c_city, c_phone, n_name
   from orders
      join customer on c_w_id = o_w_id and c_d_id = o_d_id and c_id = o_c_id
      join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
      join nation on n_nationkey = ascii(c_state)
   where o_entry_d >= date '2026-01-01' and ol_delivery_d >= o_entry_d
   group by c_w_id, c_d_id, c_id, c_last, c_city, c_phone, n_name
   order by revenue desc
   limit 20]])

function transaction()
   query()
end
