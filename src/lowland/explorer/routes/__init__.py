"""The routes of the HTTP API. Every module here that defines ``router`` is included in the app.

A route gets the session, with its store, workspace, folder, events and queue, by a dependency::

    from lowland.explorer.dependency import Here

    @router.get("/api/tables/{t}/example")
    async def example(here: Here, t: str) -> dict[str, Any]:
        table = here.table(t)  # the record; a 404 with a sentence if there is none
        stored = here.stored(t)  # its cells and columns: lowland.data.stored_table.StoredTable
        X = here.prepared_rows(t)  # the rows the methods are fitted to, memory-mapped
"""
