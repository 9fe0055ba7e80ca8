"""For mkdocs (mkdocs.yml): a link to what is not in docs/ (sources, SECURITY.md) becomes its path, as the site has no such page."""
import posixpath
import re

LINK = re.compile(r"\[([^\[\]]*)\]\((\.\./[^()\s]*)\)")


def on_page_markdown(markdown, page, config, files):
    folder = posixpath.dirname(page.file.src_uri)

    def shown(match):
        path = posixpath.normpath(posixpath.join("docs", folder, match[2].partition("#")[0]))
        return match[0] if path.startswith("docs/") else match[1] if path in match[1] else f"{match[1]} (`{path}`)"

    return LINK.sub(shown, markdown)
