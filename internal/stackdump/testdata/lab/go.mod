module lab

go 1.18
