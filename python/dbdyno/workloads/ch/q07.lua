-- Trade between two nations in both directions, by year.
local query = statement([[
   select s.n_name as supplier_nation, c.n_name as customer_nation,
      extract(year from o_entry_d) as order_year, sum(ol_amount) as revenue
   from orders
      join customer on c_w_id = o_w_id and c_d_id = o_d_id and c_id = o_c_id
      join nation c on c.n_nationkey = ascii(c_state)
      join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
      join stock on s_w_id = ol_supply_w_id and s_i_id = ol_i_id
      join supplier on mod(s_w_id * s_i_id, 10000) = su_suppkey
      join nation s on s.n_nationkey = su_nationkey
   where (s.n_name = 'Germany' and c.n_name = 'Cambodia') or (s.n_name = 'Cambodia' and c.n_name = 'Germany')
   group by s.n_name, c.n_name, extract(year from o_entry_d)
   order by supplier_nation, customer_nation, order_year]])

function transaction()
   query()
end
