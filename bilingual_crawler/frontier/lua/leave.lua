-- A worker ends in good order. ARGV: worker.
leave(worker, false)
