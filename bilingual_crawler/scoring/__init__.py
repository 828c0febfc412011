"""Score URLs and pairs of URLs by ONNX models before a page is fetched, and evidence of all kinds by linear ones."""
