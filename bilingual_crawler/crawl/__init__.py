"""What all Scrapy components of a crawl share."""
