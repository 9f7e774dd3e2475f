-- The customers with the largest orders.
local query = statement([[
   select c_last, c_w_id, c_d_id, c_id, o_id, o_entry_d, o_ol_cnt, sum(ol_amount) as amount
   from orders
      join customer on c_w_id = o_w_id and c_d_id = o_d_id and c_id = o_c_id
      join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
   group by c_w_id, c_d_id, c_id, c_last, o_w_id, o_d_id, o_id, o_entry_d, o_ol_cnt
   having sum(ol_amount) > 200
   order by amount desc, o_entry_d
   limit 100]])

function transaction()
   query()
end
