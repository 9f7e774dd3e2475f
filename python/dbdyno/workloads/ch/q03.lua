-- Orders of a state's customers that wait for delivery, the most valuable first.
local query = statement([[
   select o_w_id, o_d_id, o_id, sum(ol_amount) as revenue, o_entry_d
   from new_order
      join orders on o_w_id = no_w_id and o_d_id = no_d_id and o_id = no_o_id
      join customer on c_w_id = o_w_id and c_d_id = o_d_id and c_id = o_c_id
      join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
   where c_state like 'A%' and o_entry_d >= date '2026-01-01'
   group by o_w_id, o_d_id, o_id, o_entry_d
   order by revenue desc, o_entry_d
   limit 10]])

function transaction()
   query()
end
