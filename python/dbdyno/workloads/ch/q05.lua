-- Revenue of suppliers of a region from customers of their own nation.
local query = statement([[
   select n_name, sum(ol_amount) as revenue
   from orders
      join customer on c_w_id = o_w_id and c_d_id = o_d_id and c_id = o_c_id
      join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
      join stock on s_w_id = ol_supply_w_id and s_i_id = ol_i_id
      join supplier on mod(s_w_id * s_i_id, 10000) = su_suppkey and su_nationkey = ascii(c_state)
      join nation on n_nationkey = su_nationkey
      join region on r_regionkey = n_regionkey
   where r_name = 'Europe' and o_entry_d >= date '2026-01-01'
   group by n_name
   order by revenue desc]])

function transaction()
   query()
end
