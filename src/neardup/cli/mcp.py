"""``neardup mcp``: tools for agents, on standard input and output."""

from __future__ import annotations

from neardup.cli.messages import DONE
from neardup.cli.options.on_agents import McpOptions
from neardup.errors import InputError, SettingError, install


def mcp(options: McpOptions) -> int:
    """Offer compare, find and search to an agent by the Model Context Protocol, on standard input and output."""
    if not 0 < options.seconds <= 3600:
        raise SettingError(f"--seconds is {options.seconds:g}", "A number above 0 and at most 3,600")
    if not 0 < options.largest <= 10_000:
        raise SettingError(f"--largest is {options.largest:g}", "A number of megabytes above 0 and at most 10,000")
    try:
        from neardup.cli.agents.server import server_of
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"mcp", "mcp_types", "pydantic", "anyio"}:
            raise
        raise InputError(f"A server for agents needs the package {error.name}", "", install("mcp")) from error
    from neardup.cli.agents.roots import Roots
    from neardup.cli.agents.tools import Tools

    roots = Roots.of(options.root, int(options.largest * 1e6))
    server_of(Tools(roots, options.seconds), write=options.write).run("stdio")
    return DONE
