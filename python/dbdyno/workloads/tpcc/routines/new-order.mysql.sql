create procedure dbdyno_new_order(
    w int, d int, c int, all_local int, items text, supplies text, quantities text)
whole: begin
    declare o, line_count, n, item_id, supply_id, ordered, quantity int default 0;
    declare tax, district_tax, discount, price, amount, total decimal(12,4) default 0;
    declare last_name, credit, item_name, item_data, stock_data, dist text;
    start transaction;
    select w_tax into tax from warehouse where w_id = w;
    select d_tax, d_next_o_id into district_tax, o from district
    where d_w_id = w and d_id = d for update;
    update district set d_next_o_id = d_next_o_id + 1 where d_w_id = w and d_id = d;
    select c_discount, c_last, c_credit into discount, last_name, credit from customer
    where c_w_id = w and c_d_id = d and c_id = c;
    set line_count = 1 + length(items) - length(replace(items, ',', ''));
    insert into orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    values (o, d, w, c, current_timestamp, line_count, all_local);
    insert into new_order (no_o_id, no_d_id, no_w_id) values (o, d, w);
    while n < line_count do
        set n = n + 1;
        set item_id = substring_index(substring_index(items, ',', n), ',', -1);
        set supply_id = substring_index(substring_index(supplies, ',', n), ',', -1);
        set ordered = substring_index(substring_index(quantities, ',', n), ',', -1);
        set price = null;
        select i_price, i_name, i_data into price, item_name, item_data from item
        where i_id = item_id;
        if price is null then
            rollback;
            select null as o, null as total;
            leave whole;
        end if;
        select s_quantity, s_data,
            case d when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03
                when 4 then s_dist_04 when 5 then s_dist_05 when 6 then s_dist_06
                when 7 then s_dist_07 when 8 then s_dist_08 when 9 then s_dist_09
                else s_dist_10 end
        into quantity, stock_data, dist from stock
        where s_w_id = supply_id and s_i_id = item_id for update;
        update stock set
            s_quantity = case when s_quantity >= ordered + 10 then s_quantity - ordered
                else s_quantity - ordered + 91 end,
            s_ytd = s_ytd + ordered, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + case when supply_id = w then 0 else 1 end
        where s_w_id = supply_id and s_i_id = item_id;
        set amount = ordered * price;
        insert into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
            ol_quantity, ol_amount, ol_dist_info)
        values (o, d, w, n, item_id, supply_id, ordered, amount, dist);
        set total = total + amount;
    end while;
    commit;
    select o, total * (1 - discount) * (1 + tax + district_tax) as total;
end
