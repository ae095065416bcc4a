module github.com/optrace/optrace

go 1.26
