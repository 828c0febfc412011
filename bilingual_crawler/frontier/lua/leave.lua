-- A worker ends in order. ARGV: worker.
leave(worker, false)
