"""The routes of the HTTP API. Every module here that defines ``router`` is included in the app.

A route gets the session, with its store, workspace, folder, events and queue, by a dependency::

    from lowland.explorer.requests import CurrentSession

    @router.get("/api/tables/{t}/example")
    async def example(here: CurrentSession, t: str) -> dict[str, Any]:
        table = here.table(t)  # the record; a 404 with a sentence if there is none
        stored = here.stored(t)  # its cells and columns: lowland.data.stored_table.StoredTable
        X = here.prepared_rows(t)  # the rows the methods are fitted to, memory-mapped

``here.put(kind, record)`` stores a record and sends it to all browsers; ``here.store`` has the kinds "selection",
"placed" and others. Masks, PNG images and binary answers: ``lowland.explorer.requests``. Errors with a status:
``RequestError``. Work that takes longer than some milliseconds goes to a worker: ``here.follow(id, Job(message, lane,
what), ended)``; the message names the function, as ``"task": "lowland.explorer.tables:read_table"``.

A new table from some rows of another one is read by the same task as a file::

    message = {"stored": path of table.arrow, "selected": path of a .npy file of row numbers, "name": name,
               "id_name": name of the column of ids or None, "image_shape": shape or None, "roles": {column: role}}
    here.add_table(name, source, message, parent=t)
"""
