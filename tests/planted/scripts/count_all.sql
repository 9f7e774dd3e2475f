select sum(value) from planted;
