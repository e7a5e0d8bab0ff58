"""The documentation as a site: pages that people write, pages made from the code, links and checks (`make docs`)."""
