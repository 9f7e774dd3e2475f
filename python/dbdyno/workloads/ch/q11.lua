-- Items that are ordered most from the suppliers of a nation.
local query = statement([[
   select s_i_id, sum(s_order_cnt) as order_count
   from stock
      join supplier on mod(s_w_id * s_i_id, 10000) = su_suppkey
      join nation on n_nationkey = su_nationkey
   where n_name = 'Germany'
   group by s_i_id
   having sum(s_order_cnt) > (
      select sum(s_order_cnt) * 0.001
      from stock
         join supplier on mod(s_w_id * s_i_id, 10000) = su_suppkey
         join nation on n_nationkey = su_nationkey
      where n_name = 'Germany')
   order by order_count desc]])

function transaction()
   query()
end
