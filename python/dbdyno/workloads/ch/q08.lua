-- A nation's share of what customers of a region pay for some items, by year.
local query = statement([[
   select extract(year from o_entry_d) as order_year,
      sum(case when s.n_name = 'Germany' then ol_amount else 0 end) / sum(ol_amount) as market_share
   from orders
      join customer on c_w_id = o_w_id and c_d_id = o_d_id and c_id = o_c_id
      join nation c on c.n_nationkey = ascii(c_state)
      join region on r_regionkey = c.n_regionkey
      join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
      join item on i_id = ol_i_id
      join stock on s_w_id = ol_supply_w_id and s_i_id = ol_i_id
      join supplier on mod(s_w_id * s_i_id, 10000) = su_suppkey
      join nation s on s.n_nationkey = su_nationkey
   where r_name = 'Europe' and i_data like '%b'
   group by extract(year from o_entry_d)
   order by order_year]])

function transaction()
   query()
end
