.array 4
.rounding single
.input x element=s8 offset=0 rows=2 bytes=4 stride=4
.tile 0 01*15 ff
.constant 64 0102
+ 03
set fill=-3
read_host ub=0 rows=2 host=0
matmul.next.overwrite ub=0 acc=0 rows=2
sync waiter=activation on=matrix behind=1
halt
