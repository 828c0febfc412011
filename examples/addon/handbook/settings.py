BOT_NAME = "handbook"
SPIDER_MODULES = ["handbook.spiders"]
USER_AGENT = "handbook (+https://example.org/about-this-crawl)"
ROBOTSTXT_OBEY = True
DOWNLOAD_DELAY = 0.5

ADDONS = {"bilingual_crawler.addon.BilingualAddon": 500}
BILINGUAL_PAIR = "eng-spa"
