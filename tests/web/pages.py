"""What people do on the pages of the workbench."""

from __future__ import annotations

from playwright.sync_api import Locator, Page


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Query text")


def write(page: Page, text: str) -> None:
    """Another text in the editor."""
    editor(page).click()
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")  # typing over coloured text makes the browser try to keep its colour
    page.keyboard.insert_text(text)
